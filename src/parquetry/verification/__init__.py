"""Check that rows are where their files' records say: in the right bucket, in the right directory, in order.

This package reads columns of data files. `verify` checks a table. `recorded_claims` compares records with
facts that its caller reads from the rows.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.verification.bucket_check import BucketCheck as BucketCheck, check_buckets as check_buckets
    from parquetry.verification.recorded_claims import (
        ColumnFacts as ColumnFacts,
        broken_claims as broken_claims,
        recorded_bounds as recorded_bounds,
    )
    from parquetry.verification.tuple_check import Lacks as Lacks, lacks_tuples as lacks_tuples
    from parquetry.verification.verify import Misplacement as Misplacement

lazy_exports(__name__)
