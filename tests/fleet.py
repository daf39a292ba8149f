"""Reads a dataset with an engine that knows nothing of netreel, for tests/fleet.rs.

    fleet.py ENGINE FOLDER tables          every table, a JSON object {table: [row, ...]}
    fleet.py ENGINE FOLDER queries < JSON  the rows of each query of a list

Exits 77 where the engine cannot be had.
"""

import datetime
import decimal
import json
import os
import sys
import time

ENGINE, FOLDER, WHAT = sys.argv[1:4]
os.environ["TZ"] = "UTC"
time.tzset()
TABLES = sorted(os.listdir(FOLDER))


def plain(value):
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            value = value.replace(tzinfo=datetime.timezone.utc)
        epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        return (value - epoch) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def rows(names, lines):
    return [{name: plain(value) for name, value in zip(names, line)} for line in lines]


def duckdb():
    import duckdb
    import pytz  # its moments with a time zone need it
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for table in TABLES:
        connection.execute(
            f"CREATE VIEW {table} AS SELECT * FROM "
            f"read_parquet('{FOLDER}/{table}/**/*.parquet', hive_partitioning = true)")

    def ask(sql):
        asked = connection.execute(sql)
        return rows([column[0] for column in asked.description], asked.fetchall())
    return ask


def spark():
    import pyspark.sql
    builder = pyspark.sql.SparkSession.builder.master("local[1]")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    for table in TABLES:
        session.read.parquet(f"{FOLDER}/{table}").createOrReplaceTempView(table)

    def ask(sql):
        asked = session.sql(sql)
        return rows(asked.columns, [tuple(line) for line in asked.collect()])
    return ask


def pyarrow():
    import pyarrow.dataset

    def ask(sql):
        table = sql.rsplit(" ", 1)[1]
        found = pyarrow.dataset.dataset(f"{FOLDER}/{table}", partitioning="hive").to_table()
        return [{name: plain(value) for name, value in row.items()} for row in found.to_pylist()]
    return ask


try:
    ask = {"duckdb": duckdb, "pyspark": spark, "pyarrow": pyarrow}[ENGINE]()
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)
if WHAT == "tables":
    print(json.dumps({table: ask(f"SELECT * FROM {table}") for table in TABLES}))
else:
    print(json.dumps([ask(sql) for sql in json.load(sys.stdin)]))
