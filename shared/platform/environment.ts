import { z } from "zod";

/**
 * Reads only the variables of a schema, so that a process needs permission for no others. An empty variable counts as missing.
 * Throws an error that names each missing or wrong variable, never its value.
 */
export function readEnvironment<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  get: (name: string) => string | undefined,
): z.output<z.ZodObject<Shape>> {
  const names = Object.keys(schema.shape);
  const given = Object.fromEntries(names.map((name) => [name, get(name) || undefined]));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => {
    const name = String(path[0]);
    return given[name] === undefined ? `${name} is missing` : `${name} is wrong (${message})`;
  });
  throw new Error(`Environment: ${[...new Set(problems)].join("; ")}.`);
}

/** JSON in a text. The parser's message is not used, because it quotes the text, which may be secret. */
export const jsonText = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue({ code: "custom", message: "must be JSON" });
    return z.NEVER;
  }
});

/** An http(s) address without its trailing slash, so that paths can be appended. */
export const httpUrl = z
  .url({ protocol: /^https?$/, error: "must be an http or https address" })
  .transform((url) => url.replace(/\/+$/, ""));

/** SUPABASE_URL. */
export const supabaseUrl = httpUrl;

const apiKeys = jsonText
  .pipe(
    z.looseObject(
      { default: z.string({ error: "must hold a key named default" }).min(1, "must hold a key named default") },
      { error: "must be an object of keys" },
    ),
  )
  .transform((keys) => keys.default);

/** SUPABASE_PUBLISHABLE_KEYS, a JSON object of keys by name, read as its key `default`. */
export const supabasePublishableKeys = apiKeys;

/** SUPABASE_SECRET_KEYS, read likewise. This key bypasses row-level security: send it only to the platform. */
export const supabaseSecretKeys = apiKeys;

/** SUPABASE_JWKS: the public keys of session tokens; empty without asymmetric keys. */
export const supabaseJwks = jsonText.pipe(
  z.looseObject(
    { keys: z.array(z.looseObject({ kty: z.string() }), { error: "must hold a list named keys" }) },
    { error: "must be an object with a list named keys" },
  ),
);

/** A signing secret of Standard Webhooks. */
export const webhookSecret = z
  .string()
  .regex(/^whsec_[A-Za-z0-9+/]{16,}={0,2}$/, "must be whsec_ followed by the secret in base64");

/**
 * KEYFRAME_ALLOW_LOCAL_WEBHOOKS as a boolean. Only the local stack sets it to 1, to allow receivers on http and loopback. Elsewhere it
 * would let every user send requests into the network of the functions.
 */
export const allowLocalWebhooks = z
  .enum(["0", "1"], { error: "must be 0 or 1" })
  .default("0")
  .transform((value) => value === "1");
