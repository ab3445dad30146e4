import { z } from "zod";
import { CheckFailed } from "./check-failed.ts";
import { parseJson } from "./parse-json.ts";

const PATIENCE_MS = 30_000;

const published = z.object({
  latest_version: z.object({ id: z.string(), openapi_schema: z.record(z.string(), z.unknown()) }).nullish(),
});

/** What the provider publishes of a model: its newest version's OpenAPI document, or that there is none. */
export type Published = { version: string; openapi: Record<string, unknown> } | "gone" | "no version";

export type Provider = { baseUrl: string; token: string; fetch: typeof fetch };

/** Asks the provider for a model. Throws CheckFailed when it cannot be asked; the message never holds the token. */
export async function fetchSchema(model: string, { baseUrl, token, fetch }: Provider): Promise<Published> {
  const url = `${baseUrl.replace(/\/+$/, "")}/models/${model}`;
  const response = await ask(url, token, fetch);
  const text = await readBody(url, response);
  if (response.status === 404) return "gone";
  if (response.status === 401 || response.status === 403) {
    throw new CheckFailed(`Replicate refuses the token (${response.status}): check KEYFRAME_REPLICATE_API_TOKEN.`);
  }
  if (!response.ok) throw new CheckFailed(`${url} answered ${response.status}: try again later.`);
  const parsed = published.safeParse(parseJson(text));
  if (!parsed.success)
    throw new CheckFailed(`${url} answered with no model: is KEYFRAME_REPLICATE_API_BASE_URL right?`);
  const version = parsed.data.latest_version;
  return version ? { version: version.id, openapi: version.openapi_schema } : "no version";
}

async function ask(url: string, token: string, fetcher: typeof fetch): Promise<Response> {
  try {
    // Not followed: the token is for this host alone.
    return await fetcher(url, {
      headers: { authorization: `Bearer ${token}` },
      redirect: "manual",
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
  } catch (error) {
    throw unreachable(url, error);
  }
}

async function readBody(url: string, response: Response): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    throw unreachable(url, error);
  }
}

function unreachable(url: string, error: unknown): CheckFailed {
  return new CheckFailed(`${url} cannot be reached: ${error instanceof Error ? error.message : String(error)}`);
}
