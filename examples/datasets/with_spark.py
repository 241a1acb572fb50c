"""PySpark: python with_spark.py scenes.jsonl prompts 4    (a folder of prompts; 4 workers)"""

import os
import sys

import pandas
from pyspark.sql import SparkSession

from prompts import build_line


def build(batches):
    for batch in batches:
        yield pandas.DataFrame({"value": [build_line(line) for line in batch["value"]]})


if __name__ == "__main__":
    source, target, workers = sys.argv[1], sys.argv[2], int(sys.argv[3])
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.master(f"local[{workers},4]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.sparkContext.addPyFile("prompts.py")
    # a task whose worker is killed runs again
    scenes = spark.read.text(source)
    scenes.mapInPandas(build, "value string").write.mode("overwrite").text(target)
