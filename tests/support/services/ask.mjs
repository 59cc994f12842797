// Asks for a completion with OpenAI's client and prints, as JSON, what became of it.
import { createRequire } from "node:module";

const OpenAI = createRequire(process.env.CLIENTS)("openai").OpenAI;
const [baseURL, apiKey, body] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: 60_000 });
const asked = JSON.parse(body);
const found = { texts: [], models: null, error: null, status: null, message: null };
try {
  if (asked.model === undefined) {
    found.models = (await client.models.list()).data.map((model) => model.id);
  } else if (asked.stream) {
    for await (const chunk of await client.completions.create(asked)) {
      found.texts.push(...chunk.choices.map((choice) => choice.text));
    }
  } else {
    const answer = await client.completions.create(asked);
    found.texts = answer.choices.map((choice) => choice.text);
  }
} catch (error) {
  found.error = error.constructor.name;
  found.status = error.status ?? null;
  found.message = String(error.message);
}
console.log(JSON.stringify(found));
