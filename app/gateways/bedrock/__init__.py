"""The API formats of Amazon Bedrock: Converse, and InvokeModel by model family.

Read `converse` first, then `common`.
"""
