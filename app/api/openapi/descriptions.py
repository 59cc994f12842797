"""The texts that describe the API and its parameters."""

DESCRIPTION = """\
A gateway for text completions: one endpoint for the models of many vendors, with every token
accounted for. Send an API key in `x-api-key`, or in `Authorization` as a bearer token. If a request
has several keys, the first valid one is used, `x-api-key` first. Official OpenAI clients work with
the base URL `/v5`. Request bodies may be compressed with `gzip` or `deflate`."""

#: Parameter of a request body or a query string -> description.
FIELDS = {
    "model": "The model, as `vendor/name`.",
    "prompt": "The text or texts to complete, or token ids if the vendor supports them.",
    "best_of": "Generate this many completions, return the best `n`. Only 1 can be streamed.",
    "echo": "Return the prompt before its completion.",
    "frequency_penalty": "Above 0, tokens become less likely the more often they have occurred.",
    "logit_bias": "Token id -> value to add to the token's likelihood. -100 bans the token.",
    "logprobs": "Return the log probabilities of this many most likely tokens.",
    "max_tokens": "The most tokens to generate.",
    "n": "The number of completions per prompt.",
    "presence_penalty": "Above 0, tokens that have occurred become less likely.",
    "seed": "The same seed and request give the same completion, if the vendor supports it.",
    "stop": "The text, or texts, before which to stop. Most vendors support up to four.",
    "stream": "Respond with server-sent events.",
    "stream_options": "`include_usage`: add a last chunk with the tokens used.",
    "suffix": "The text that follows the completion.",
    "temperature": "Randomness, from 0 (the most likely tokens) to 2.",
    "top_p": "Sample from the most likely tokens whose probabilities add up to this value.",
    "user": "An id of your end user. Usage can be grouped by it.",
    "start_time": "Start of the range, in Unix seconds.",
    "end_time": "End of the range (exclusive), in Unix seconds. Default: now.",
    "bucket_width": "Length of a bucket.",
    "project_ids": "Only these accounts.",
    "user_ids": "Only requests with one of these as `user`.",
    "api_key_ids": "Only these API keys, by id.",
    "models": "Only these models, as `vendor/name`.",
    "endpoints": "Only requests to these endpoints. Default: all, summed.",
    "line_items": "Only these models, as `vendor/name`.",
    "timezone": "Time zone in which days begin, from the IANA database.",
    "format": "`csv`: respond with one file of all buckets, without pages.",
    "bom": "`true`: start the file with a byte-order mark, so that Excel reads it as UTF-8.",
    "batch": "`true`: only batch requests (always empty). `false`: only other requests.",
    "group_by": "Group by these.",
    "limit": "The most models, or buckets, per page.",
    "starting_after": "The page starts after this id.",
    "ending_before": "The page ends before this id.",
    "name": "Only the model with this name.",
    "model_vendor": "Only models of this vendor.",
    "page": "The `next_page` of the previous page.",
}
