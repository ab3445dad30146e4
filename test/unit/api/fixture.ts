import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { createLog } from "../../../shared/platform/log.ts";
import { createApi } from "../../../shared/api/create-api.ts";
import { watched } from "../../support/openapi/watch.ts";

// Of no version of RFC 9562: Postgres takes any 32 hexadecimal digits. Administrators choose ids, and imported users bring theirs.
export const OWNER = "7d3f1c52-5a0e-65d6-1d0b-0a4f6f3f2c11";
export const PROJECT = "0e8a1f3c-2a1b-65d6-1e9f-1a2b3c4d5e6f";
export const PREDICTION = "5b1c9a52-0d43-65d6-14fe-3d1f0c6a7b88";
/** The project's secret key, which the webhook paths admit. */
export const SECRET_KEY = "sb_secret_of_the_project";
/** Tests look at the API at this moment, so nothing in them depends on the day they run. */
export const NOW = new Date("2026-11-21T12:00:00Z");

export const keys = await generateKeyPair("ES256", { extractable: true });
export const publicJwk = { ...(await exportJWK(keys.publicKey)), kty: "EC", kid: "key-1", alg: "ES256", use: "sig" };

/** A session token as Auth issues it; `claims` replaces or (undefined) removes claims. */
export function sessionToken(
  issuer: string,
  claims: Record<string, unknown> = {},
  key: CryptoKey = keys.privateKey,
  kid: string | undefined = "key-1",
) {
  const payload = {
    iss: issuer,
    aud: "authenticated",
    role: "authenticated",
    sub: OWNER,
    exp: NOW.getTime() / 1000 + 60,
    ...claims,
  };
  return new SignJWT(payload).setProtectedHeader({ alg: "ES256", ...(kid ? { kid } : {}) }).sign(key);
}

type Clock = Pick<Parameters<typeof createApi>[1], "now" | "elapsed" | "sleep">;
let elapsed = 0;
/** Stands at NOW; a test that waits brings a clock of its own. Any two requests are a minute apart: a refusal is over by the next one. */
const stoppedClock: Clock = {
  now: () => NOW,
  elapsed: () => {
    elapsed += 60_000;
    return elapsed;
  },
  sleep: () => Promise.reject(new Error("Nothing waits here.")),
};
type Options = { timeoutMs?: number; clock?: Clock };

/** `connection`: the caller's port, which identifies the connection. */
type Seen = { method: string; path: string; headers: Headers; body: Uint8Array<ArrayBuffer>; connection: number };

/**
 * The API in front of a real HTTP server that speaks as PostgREST and Storage: `answer` gives its responses.
 * `log` holds each line, `seen` each request that reached the platform.
 */
export async function startApi(
  answer: (request: Seen) => Response | Promise<Response>,
  { timeoutMs = 10_000, clock = stoppedClock }: Options = {},
) {
  const seen: Seen[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request, { remoteAddr }) => {
    const { method, headers } = request;
    const body = new Uint8Array(await request.arrayBuffer());
    const one = { method, path: new URL(request.url).pathname, headers, body, connection: remoteAddr.port };
    seen.push(one);
    return answer(one);
  });
  const supabaseUrl = `http://127.0.0.1:${server.addr.port}`;
  const log: string[] = [];
  const app = createApi(
    {
      SUPABASE_URL: supabaseUrl,
      SUPABASE_PUBLISHABLE_KEYS: "sb_publishable_test",
      SUPABASE_SECRET_KEYS: SECRET_KEY,
      SUPABASE_JWKS: { keys: [publicJwk] },
      KEYFRAME_ALLOW_LOCAL_WEBHOOKS: false,
    },
    { ...clock, log: createLog({ function: "api" }, (line) => log.push(line)), fetch, timeoutMs },
  );
  const token = await sessionToken(`${supabaseUrl}/auth/v1`);

  /** Calls as the signed-in user; `headers` can take any of it back. */
  const call = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    if (!headers.has("authorization")) headers.set("authorization", `Bearer ${token}`);
    const request = new Request(`http://api.test${path}`, { ...init, headers });
    return watched(request, await app.fetch(request)); // held against openapi.json
  };
  const post = (path: string, body: unknown, headers: HeadersInit = {}) =>
    call(path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...Object.fromEntries(new Headers(headers)) },
    });
  return { app, call, post, token, seen, log, supabaseUrl, stop: () => server.shutdown() };
}

type FailedBody = {
  success: boolean;
  data: null;
  error: { code: string; message: string; details?: { path: string; message: string }[]; requestId: string };
};
// The envelope is what these tests are about: each looks into the parts it names.
export const failedBody = async (response: Response) => (await response.json()) as FailedBody;

/** How Storage signs many files at once: each that is asked for, but not those that `isMissing` names. */
export function signedFiles(
  { body }: Pick<Seen, "body">,
  isMissing: (path: string) => boolean = () => false,
): Response {
  const { paths }: { paths: string[] } = JSON.parse(new TextDecoder().decode(body));
  return Response.json(
    paths.map((path) =>
      isMissing(path)
        ? { error: "Either the object does not exist or you do not have access to it", path, signedURL: null }
        : { error: null, path, signedURL: `/object/sign/keyframe-outputs/${path}?token=t` },
    ),
  );
}

export function lastArguments({ seen }: { seen: Seen[] }): unknown {
  const call = seen.findLast(({ path }) => path.includes("/rpc/"));
  return JSON.parse(new TextDecoder().decode(call?.body));
}

export const rate = { policy: "generate", limit: 60, remaining: 59, reset_seconds: 1, window_seconds: 60 };

/** A prediction as keyframe_private.prediction_json gives it; `fields` replaces some. */
export const predictionRow = (fields: Record<string, unknown> = {}) => ({
  id: PREDICTION,
  project_id: PROJECT,
  owner_id: OWNER,
  step: "first-frame",
  status: "queued",
  requested_model: null,
  input: { prompt: "a secret prompt", aspectRatio: "16:9", referenceImagePaths: [] },
  progress: null,
  queue_position: 0,
  waits_for: null,
  model: "google/nano-banana",
  hidden: false,
  outdated: false,
  changed_elements: [],
  attempt: 0,
  cost: null,
  created_at: "2026-11-21T13:00:00.123456+01:00",
  started_at: null,
  completed_at: null,
  output_path: null,
  output_duration_seconds: null,
  output_has_audio: null,
  end_image_path: null,
  error_code: null,
  error_stage: null,
  ...fields,
});

export const succeededFields = {
  status: "succeeded",
  progress: 1,
  queue_position: null,
  attempt: 1,
  started_at: "2026-11-21T12:00:01+00:00",
  completed_at: "2026-11-21T12:00:03.5+00:00",
  output_path: `${OWNER}/${PROJECT}/${PREDICTION}.png`,
  output_content_type: "image/png",
  output_bytes: 1234,
  output_sha256: "ab".repeat(32),
  output_width: 1280,
  output_height: 720,
};
