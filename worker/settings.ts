import { z } from "zod";
import { functionEnvironments, readEnvironment } from "../shared/platform/environment.ts";
import { readUrl } from "./direct-database.ts";

const WORKER_NAMES = ["generate", "deliver"] as const;
export type WorkerName = (typeof WORKER_NAMES)[number];

const generate = functionEnvironments["keyframe-generate"];
const deliver = functionEnvironments["keyframe-deliver"];

const databaseUrl = z.string().transform((text, context) => {
  const wrong = (message: string) => {
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  };
  const url = URL.parse(text);
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol) || url.hostname === "")
    return wrong("must be an address such as postgres://user:password@host:5432/postgres");
  try {
    readUrl(url);
    return url;
  } catch (error) {
    return wrong(error instanceof Error ? error.message : "cannot be read");
  }
});

const MAX_PORT = 65_535;
const LISTEN_ADDRESS = /^(?:(.+):)?(\d{1,5})$/;

/** `8080`, on this machine only, or `0.0.0.0:8080`. */
const listenAddress = z.string().transform((text, context) => {
  const [, hostname = "127.0.0.1", digits] = LISTEN_ADDRESS.exec(text) ?? [];
  const port = Number(digits);
  if (port <= MAX_PORT) return { hostname: hostname.replace(/^\[(.*)\]$/, "$1"), port };
  context.addIssue({ code: "custom", message: "must be a port such as 8080, or 0.0.0.0:8080" });
  return z.NEVER;
});

/** The variables of every process. It works for the project at SUPABASE_URL, and refuses the database of another one. */
const COMMON = z.object({
  SUPABASE_DB_URL: databaseUrl.optional(),
  KEYFRAME_WORKER_LISTEN: listenAddress.optional(),
  SUPABASE_URL: deliver.shape.SUPABASE_URL,
});
const DATA_API = deliver.pick({ SUPABASE_URL: true, SUPABASE_SECRET_KEYS: true });
const GENERATE = generate.omit({ KEYFRAME_KICK_SECRET: true });
const DELIVER = deliver.pick({ KEYFRAME_ALLOW_LOCAL_WEBHOOKS: true });

/**
 * The variables of the functions that run here. Storage needs the Data API's secret key; without generate it is needed only where
 * SUPABASE_DB_URL is not set. Throws one line that names each missing or wrong variable.
 */
export function readWorkerSettings(
  given: { only?: string | undefined; listen?: string | undefined },
  environment: (name: string) => string | undefined,
) {
  const names = readNames(given.only);
  const get = (name: string) =>
    name === "KEYFRAME_WORKER_LISTEN" ? (given.listen ?? environment(name)) : environment(name);
  const byDataApi = !get("SUPABASE_DB_URL");
  const runs = (name: WorkerName) => names.includes(name);
  // All together, so that the error names all. Below, each part is read with its own type.
  const common = readEnvironment(
    z.object({
      ...COMMON.shape,
      ...(byDataApi ? DATA_API.shape : {}),
      ...(runs("generate") ? GENERATE.shape : {}),
      ...(runs("deliver") ? DELIVER.shape : {}),
    }),
    get,
  );
  return {
    address: common.SUPABASE_URL,
    database: common.SUPABASE_DB_URL ?? readEnvironment(DATA_API, get),
    health: common.KEYFRAME_WORKER_LISTEN,
    generate: runs("generate") ? readEnvironment(GENERATE, get) : null,
    deliver: runs("deliver") ? readEnvironment(DELIVER, get) : null,
  };
}

function readNames(only: string | undefined): readonly WorkerName[] {
  const names = WORKER_NAMES.filter((name) => only === undefined || only === name);
  if (names.length === 0) throw new Error(`--only must be ${WORKER_NAMES.join(" or ")}, not "${only}".`);
  return names;
}
