"""Kill the planner's process again and again while sessions of a Spark Connect server are at work.

`python -m tests.support.planner_kills --kills 200` does it as often as one likes.
"""
