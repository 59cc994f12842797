"""What the description says of parameters, for people."""

DESCRIPTION = """\
A gateway for text completions: one endpoint, the models of many vendors, and an account of every
token. A key goes into `x-api-key`, or into `Authorization` as a bearer token; where a request has
several, the first that works counts, and `x-api-key` comes first. Official OpenAI clients work with
the base URL `/v5`. A request's body may be coded as `gzip` or `deflate`."""

#: By the parameter's name, in a request's body as in a query string.
FIELDS = {
    "model": "Which model answers: `vendor/name`.",
    "prompt": "What to complete: a text, texts, or token ids where the vendor takes them.",
    "best_of": "Of so many samples, answer with the best `n`; cannot be streamed above 1.",
    "echo": "Put the prompt before its completion.",
    "frequency_penalty": "Above 0, what has been written often becomes less likely.",
    "logit_bias": "By token id, what to add to its likelihood; -100 bans it.",
    "logprobs": "Tell the log probabilities of so many likely tokens.",
    "max_tokens": "The most tokens to write.",
    "n": "How many completions of each prompt.",
    "presence_penalty": "Above 0, what has been written at all becomes less likely.",
    "seed": "The same seed and request give the same answer, as far as the vendor can.",
    "stop": "Where to stop: a text, or as many as the vendor takes, mostly four.",
    "stream": "Answer as server-sent events.",
    "stream_options": "`include_usage` asks for a last chunk with the tokens used.",
    "suffix": "The text that follows the completion.",
    "temperature": "0 for the likeliest words, up to 2.",
    "top_p": "Choose among the likeliest words, whose probabilities sum up to this.",
    "user": "Your own user, for the accounts.",
    "start_time": "From when, in Unix seconds.",
    "end_time": "Until when, in Unix seconds, not included; absent: until now.",
    "bucket_width": "How long a bucket is.",
    "project_ids": "Only these accounts.",
    "user_ids": "Only what was asked with one of these as `user`.",
    "api_key_ids": "Only these keys.",
    "models": "Only these models, as `vendor/name`.",
    "line_items": "Only these models, as `vendor/name`.",
    "timezone": "Where days begin: a zone of the IANA database.",
    "format": "`csv` answers with a file of all buckets, which has no pages.",
    "batch": "Only batch jobs, of which there are none; or only what is none.",
    "group_by": "Sum by these.",
    "limit": "How many entries a page has; of a report, how many buckets.",
    "starting_after": "The page begins behind this id.",
    "ending_before": "The page ends before this id.",
    "name": "Only the one with this name.",
    "model_vendor": "Only those of this vendor.",
    "page": "The `next_page` of the page before.",
}
