import { z } from "zod";
import { jsonText } from "./json-text.ts";

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

/** An http(s) address. Its trailing slash is removed, so that paths can be appended. */
export const httpUrl = z
  .url({ protocol: /^https?$/, error: "must be an http or https address" })
  .transform((url) => url.replace(/\/+$/, ""));

/** The characters that a header can have. With others, an error of fetch would print the value. */
const credential = z.string().regex(/^[!-~]+$/, "must be printable ASCII without spaces");

/** A JSON object of keys by name, read as its key `default`. */
const apiKeys = jsonText
  .pipe(
    z.looseObject(
      {
        default: z
          .string({ error: "must have a key named default" })
          .min(1, { error: "must have a key named default", abort: true })
          .pipe(credential),
      },
      { error: "must be an object of keys" },
    ),
  )
  .transform((keys) => keys.default);

/** The value of SUPABASE_SECRET_KEYS. This key bypasses row-level security: send it only to the platform. */
export const supabaseSecretKeys = apiKeys;

/** SUPABASE_JWKS: the public keys of session tokens. The list is empty if the project has no asymmetric keys. */
const supabaseJwks = jsonText.pipe(
  z.looseObject(
    { keys: z.array(z.looseObject({ kty: z.string() }), { error: "must have a list named keys" }) },
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
const allowLocalWebhooks = z
  .enum(["0", "1"], { error: "must be 0 or 1" })
  .default("0")
  .transform((value) => value === "1");

const HOST = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/;

/** An origin has no path, but may end with a slash. */
const isOrigin = (entry: string) =>
  /^https?:/.test(entry) && URL.canParse(entry) && new URL(entry).origin === entry.replace(/\/$/, "");

/**
 * KEYFRAME_REPLICATE_OUTPUT_HOSTS, the hosts of outputs, as a function that tests a URL. `replicate.delivery` permits https on port 443 at
 * that host and its subdomains; `http://127.0.0.1:4000` permits exactly that origin, for a provider on the same machine. The error does not
 * repeat the entry, which may contain a password.
 */
export const outputHosts = z
  .string()
  .transform((list) =>
    list
      .split(",")
      .map((entry) => entry.trim().toLowerCase())
      .filter((entry) => entry !== ""),
  )
  .refine(
    (entries) => entries.length > 0 && entries.every((entry) => HOST.test(entry) || isOrigin(entry)),
    "must be host names or origins such as http://127.0.0.1:4000, separated by commas",
  )
  .transform((entries) => (given: string): boolean => {
    if (!URL.canParse(given)) return false;
    const url = new URL(given);
    if (url.username !== "" || url.password !== "") return false;
    // url.origin is not used: for blob:https://… it is the origin of the inner URL.
    const origin = `${url.protocol}//${url.host}`;
    if (entries.includes(origin) || entries.includes(`${origin}/`)) return true;
    if (url.protocol !== "https:" || url.port !== "") return false;
    return entries.some((host) => url.hostname === host || url.hostname.endsWith(`.${host}`));
  });

/** A variable that undici reads. It is listed, because the local stack permits a function only its listed variables. */
const readByUndici = z.string().optional();

const api = z.object({
  SUPABASE_URL: httpUrl,
  SUPABASE_PUBLISHABLE_KEYS: apiKeys,
  SUPABASE_JWKS: supabaseJwks,
  /** A caller of the webhook paths with this key can manage the service-wide endpoints. */
  SUPABASE_SECRET_KEYS: supabaseSecretKeys,
  /** Set only if sessions are signed with the project's shared HS256 key. */
  KEYFRAME_JWT_SECRET: z.string().min(32, "must have at least 32 characters").optional(),
  /**
   * The address that apps use, if it is not SUPABASE_URL: a custom domain, or `supabase start`, whose functions see
   * http://kong:8000. It is a second accepted issuer and the host of signed URLs.
   */
  KEYFRAME_CLIENT_URL: httpUrl.optional(),
  KEYFRAME_ALLOW_LOCAL_WEBHOOKS: allowLocalWebhooks,
});

/** The variables of each function, by its name. The platform sets those of SUPABASE. */
export const functionEnvironments = {
  api,
  /** keyframe-mcp calls the API's handlers. */
  "keyframe-mcp": api,
  "keyframe-generate": z.object({
    SUPABASE_URL: httpUrl,
    SUPABASE_SECRET_KEYS: supabaseSecretKeys,
    KEYFRAME_KICK_SECRET: webhookSecret,
    KEYFRAME_REPLICATE_API_TOKEN: credential,
    KEYFRAME_REPLICATE_API_BASE_URL: httpUrl.default("https://api.replicate.com/v1"),
    KEYFRAME_REPLICATE_OUTPUT_HOSTS: outputHosts.prefault("replicate.delivery"),
    /** Where the provider reaches the platform. Default: SUPABASE_URL if it is https, otherwise polling and the provider's Files API. */
    KEYFRAME_PUBLIC_URL: httpUrl.optional(),
  }),
  "keyframe-replicate-webhook": z.object({
    SUPABASE_URL: httpUrl,
    SUPABASE_SECRET_KEYS: supabaseSecretKeys,
    KEYFRAME_REPLICATE_WEBHOOK_SECRET: webhookSecret,
  }),
  "keyframe-deliver": z.object({
    SUPABASE_URL: httpUrl,
    SUPABASE_SECRET_KEYS: supabaseSecretKeys,
    KEYFRAME_KICK_SECRET: webhookSecret,
    KEYFRAME_ALLOW_LOCAL_WEBHOOKS: allowLocalWebhooks,
    JEST_WORKER_ID: readByUndici,
    UNDICI_NO_WASM_SIMD: readByUndici,
  }),
};

export type FunctionEnvironment<Name extends keyof typeof functionEnvironments> = z.output<
  (typeof functionEnvironments)[Name]
>;
