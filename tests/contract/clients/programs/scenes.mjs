// Scenes of OpenAI's client for Node and of Vercel's AI SDK: a line of JSON in, a line out.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(process.env.CLIENTS);
const OpenAI = require("openai").OpenAI;
const { zodFunction, zodResponseFormat } = require("openai/helpers/zod");
const { generateObject, generateText, stepCountIs, streamObject, streamText, tool } = require("ai");
const { createOpenAI } = require("@ai-sdk/openai");
const { createOpenAICompatible } = require("@ai-sdk/openai-compatible");
const { z } = require("zod");

const City = z.object({ city: z.string() });
const Place = z.object({ city: z.string(), degrees: z.number().int() });
const description = "Return how warm it is in a city.";

const client = ({ base_url, api_key }) =>
  new OpenAI({ baseURL: base_url, apiKey: api_key, maxRetries: 0, timeout: 60_000 });
const asked = ({ model, text, effort }) => ({
  model, messages: [{ role: "user", content: text }], reasoning_effort: effort,
});

const tools = [zodFunction({ name: "weather", description, parameters: City })];

const openai = {
  async whole(given) {
    const { choices, usage } = await client(given).chat.completions.create(asked(given));
    return { text: choices[0].message.content, finish: choices[0].finish_reason, usage };
  },

  async stream(given) {
    const stream = await client(given).chat.completions.create({
      ...asked(given), stream: true, stream_options: { include_usage: true },
    });
    let text = "", finish = null, usage = null;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      finish ??= chunk.choices[0]?.finish_reason ?? null;
      usage = chunk.usage ?? usage;
    }
    return { text, finish, usage };
  },

  async helper(given) {
    const stream = client(given).chat.completions.stream({
      ...asked(given), stream_options: { include_usage: true },
    });
    const { choices, usage } = await stream.finalChatCompletion();
    return { text: choices[0].message.content, finish: choices[0].finish_reason, usage };
  },

  async parse(given) {
    const completion = await client(given).chat.completions.parse({
      ...asked(given), response_format: zodResponseFormat(Place, "place"),
    });
    return completion.choices[0].message.parsed;
  },

  async parse_stream(given) {
    const stream = client(given).chat.completions.stream({
      ...asked(given), response_format: zodResponseFormat(Place, "place"),
    });
    return (await stream.finalChatCompletion()).choices[0].message.parsed;
  },

  async tools(given) {
    const runner = client(given).chat.completions.runTools({
      ...asked(given),
      stream: given.streams,
      tools: [zodFunction({
        name: "weather", description, parameters: City,
        function: ({ city }) => given.results[city],
      })],
    });
    return await runner.finalContent();
  },

  // The loop as its users write it, who send back the message that they got.
  async loop(given) {
    const request = asked(given);
    for (;;) {
      const { choices } = await client(given).chat.completions.create({ ...request, tools });
      const { message } = choices[0];
      if (!message.tool_calls) return message.content;
      request.messages.push(message);
      for (const { id, function: { arguments: text } } of message.tool_calls) {
        const content = given.results[JSON.parse(text).city];
        request.messages.push({ role: "tool", tool_call_id: id, content });
      }
    }
  },

  async models(given) {
    return (await client(given).models.list()).data.map((model) => model.id);
  },
};

function vercel({ provider, name = "tollgate", base_url: baseURL, api_key: apiKey, model }) {
  if (provider === "openai") return createOpenAI({ baseURL, apiKey }).chat(model);
  const options = { includeUsage: true, supportsStructuredOutputs: true };
  return createOpenAICompatible({ name, baseURL, apiKey, ...options })(model);
}

// What every request has; the effort is the option of a provider.
const common = (given) => ({
  model: vercel(given), prompt: given.text, maxRetries: 0,
  providerOptions: given.effort && {
    [given.provider === "openai" ? "openai" : given.name ?? "tollgate"]: { reasoningEffort: given.effort },
  },
});
const weather = ({ results }) => ({
  weather: tool({ description, inputSchema: City, execute: async ({ city }) => results[city] }),
});
const counted = ({ inputTokens, outputTokens, totalTokens }) =>
  ({ prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: totalTokens });

// Reads a stream to its end; an error that the SDK has turned into a part is thrown.
async function readWhole(given, more = {}) {
  const found = streamText({ ...common(given), ...more });
  for await (const part of found.fullStream) if (part.type === "error") throw part.error;
  return found;
}

const ai = {
  async whole(given) {
    const found = await generateText(common(given));
    return { text: found.text, finish: found.finishReason, usage: counted(found.usage) };
  },

  async stream(given) {
    const found = await readWhole(given);
    const [text, finish, usage] = await Promise.all([found.text, found.finishReason, found.usage]);
    return { text, finish, usage: counted(usage) };
  },

  async tools(given) {
    const found = await generateText({
      ...common(given), tools: weather(given), stopWhen: stepCountIs(3),
    });
    return found.text;
  },

  async stream_tools(given) {
    const found = await readWhole(given, { tools: weather(given), stopWhen: stepCountIs(3) });
    return await found.text;
  },

  async object(given) {
    return (await generateObject({ ...common(given), schema: Place })).object;
  },

  async stream_object(given) {
    const found = streamObject({ ...common(given), schema: Place });
    for await (const part of found.fullStream) if (part.type === "error") throw part.error;
    return await found.object;
  },
};

const scenes = { openai, ai };
for await (const line of createInterface({ input: process.stdin })) {
  const given = JSON.parse(line);
  const [group, name] = given.scene.split(".");
  let found;
  try {
    found = { result: (await scenes[group][name](given)) ?? null };
  } catch (error) {
    found = { failed: error?.stack ?? String(error) };
  }
  console.log(JSON.stringify(found));
}
