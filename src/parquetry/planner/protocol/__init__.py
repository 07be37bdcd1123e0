"""The interface between the bridge and the planner: questions, answers, and their JSON.

Each kind of question and answer is a struct in `questions` or `answers`. `codec` reads and writes them, and
`values` does so for single values.
"""
