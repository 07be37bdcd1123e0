// Answers of the server. The token, if one is needed, stays in this tab.

const KEPT = "parquetry-token";

// A link may bring a token behind #token=, which no browser sends: it is kept for this tab, and taken out of the address.
const brought = /^#token=(.+)$/.exec(location.hash);
if (brought) {
  sessionStorage.setItem(KEPT, decodeURIComponent(brought[1]));
  history.replaceState(null, "", "#/");
}

export class TokenNeeded extends Error {}

export function keepToken(token) {
  sessionStorage.setItem(KEPT, token);
}

/** The answer to a request, or an error with the server's message. */
export async function ask(path, parameters = {}, signal = undefined) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined);
  const token = sessionStorage.getItem(KEPT);
  let response;
  try {
    response = await fetch(`api/${path}?${new URLSearchParams(given)}`, {
      headers: token ? { authorization: `Bearer ${token}` } : {},
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer: is `parquetry ui` still running?");
  }
  const answer = await response.json();
  if (response.ok) return answer;
  if (response.status === 401) throw new TokenNeeded(answer.error);
  throw Object.assign(new Error(answer.error), { position: answer.position, status: response.status });
}
