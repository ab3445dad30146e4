import { onTestFinished } from "vitest";
import { answer, receive } from "../../support/receiver/raw-receiver.ts";
import { createLog } from "../../../shared/platform/log.ts";
import type { Deps, Database } from "../../../supabase/functions/keyframe-generate/tasks/database.ts";
import { outputHosts } from "../../../shared/platform/environment.ts";
import { createProvider } from "../../../supabase/functions/keyframe-generate/provider/provider.ts";
import { createStorage } from "../../../supabase/functions/keyframe-generate/files/storage.ts";
import type { StoreTask, SubmitTask } from "../../../supabase/functions/keyframe-generate/tasks/task.ts";
import { NANO_BANANA } from "../../support/models.ts";

// Chosen by an administrator: of no version of RFC 9562.
export const PREDICTION = "0d7f6f0e-6a0c-65d6-1f38-0e8f6f1b7a01";
export const OWNER = "1d7f6f0e-6a0c-65d6-1f38-0e8f6f1b7a02";
export const PROJECT = "2d7f6f0e-6a0c-65d6-1f38-0e8f6f1b7a03";
const LEASE = "3d7f6f0e-6a0c-4d6e-9f38-0e8f6f1b7a04";

const leased = {
  id: PREDICTION,
  project_id: PROJECT,
  owner_id: OWNER,
  work_id: 1,
  lease_token: LEASE,
  attempt: 1,
  step: "first-frame" as const,
};

export const submitTask = (change: Partial<SubmitTask> = {}): SubmitTask => ({
  task: "submit",
  ...leased,
  model: "google/nano-banana",
  input: { prompt: "A lighthouse at dusk", aspectRatio: "16:9" },
  deadline_at: new Date(Date.now() + 600_000),
  search_attempt: null,
  search_since: null,
  images: [],
  has_images: false,
  model_settings: NANO_BANANA,
  ...change,
});

export const storeTask = (url: string, change: Partial<StoreTask> = {}): StoreTask => ({
  task: "store",
  ...leased,
  last_error: null,
  provider_output_url: url,
  ...change,
});

/** A task as claim_tasks returns it; what it is about comes with begin_submit. */
export const WORK = { work_id: 1, lease_token: LEASE };

export type Call = [name: keyof Database, ...args: unknown[]];

/** What a database answers for a row that no other worker changes. */
const USUAL: Partial<Record<keyof Database, unknown>> = {
  ...{ reportRun: "recorded", recordSearchEnded: true, modelRefused: "moved" },
  ...{ complete: true, fail: true },
};

const isWork = (arg: unknown) => arg === null || (typeof arg === "object" && "work_id" in arg);

/** A database that records its calls. */
function fakeDatabase(answers: Partial<Database> = {}): { database: Database; calls: Call[] } {
  const calls: Call[] = [];
  const call = (name: keyof Database) => {
    return async (...args: unknown[]) => {
      if (!name.startsWith("begin")) calls.push([name, ...args.slice(1).filter((arg) => !isWork(arg))]);
      const answer = answers[name] as ((...given: unknown[]) => unknown) | undefined; // arguments are only passed on
      return answer ? await answer(...args) : USUAL[name];
    };
  };
  return { database: new Proxy({} as Database, { get: (_, name) => call(name as keyof Database) }), calls };
}

export type StorageServer = {
  url: string;
  files: Map<string, { bytes: Uint8Array; contentType: string }>;
  removals: { bucket: string; names: string[] }[];
  /** Set: uploads and removals get this status, and change nothing; 200 as a gateway's page of maintenance has it. */
  refuse: number | null;
  /** A request that names one of these to be removed is refused as a whole. */
  refusedNames: Set<string>;
  stop(): Promise<void>;
};

/** Storage as far as the worker uses it, over real HTTP: an upload counts only when its body came to its end. */
export async function startStorage(): Promise<StorageServer> {
  const files: StorageServer["files"] = new Map();
  const removals: StorageServer["removals"] = [];
  const stop = async () => await server.shutdown();
  const storage: StorageServer = {
    url: "",
    files,
    removals,
    refuse: null,
    refusedNames: new Set(),
    stop,
  };
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    const path = new URL(request.url).pathname.replace("/storage/v1/object", "");
    if (request.headers.get("apikey") !== "sb_secret_test")
      return Response.json({ statusCode: "403" }, { status: 400 });
    if (path.startsWith("/sign/")) {
      const name = path.replace("/sign", "");
      if (!files.has(name)) return Response.json({ statusCode: "404", error: "not_found" }, { status: 400 });
      const { expiresIn } = await request.json();
      return Response.json({ signedURL: `/object/sign${name}?token=for-${expiresIn}-seconds` });
    }
    if (request.method === "DELETE") {
      const { prefixes }: { prefixes: string[] } = await request.json();
      const bucket = path.slice(1);
      removals.push({ bucket, names: prefixes });
      const isRefused = prefixes.some((name) => storage.refusedNames.has(name));
      const status = isRefused ? 500 : storage.refuse;
      if (status !== null) return Response.json({ message: "no" }, { status });
      for (const name of prefixes) files.delete(`${path}/${name}`);
      return Response.json([]);
    }
    if (request.method === "POST") {
      const contentType = request.headers.get("content-type") ?? "";
      const bytes = await request.bytes().catch(() => null);
      if (storage.refuse !== null) return Response.json({ message: "no" }, { status: storage.refuse });
      if (bytes === null) return new Response(null, { status: 400 });
      files.set(path, { bytes, contentType });
      return Response.json({ Key: path });
    }
    const file = files.get(path);
    if (!file) return Response.json({ statusCode: "404", error: "not_found" }, { status: 400 });
    return new Response(new Uint8Array(file.bytes), { headers: { "content-type": file.contentType } });
  });
  storage.url = `http://127.0.0.1:${server.addr.port}`;
  return storage;
}

type Made = { deps: Deps; calls: Call[]; lines: string[] };

/** The worker's parts, real but for the database. */
export function makeDeps(given: {
  storageUrl?: string;
  provider?: { url: string; token: string };
  publicUrl?: string | null;
  outputHosts?: string;
  database?: Partial<Database>;
  maxBytes?: number;
}): Made {
  const { database, calls } = fakeDatabase(given.database);
  const lines: string[] = [];
  const platformUrl = given.storageUrl ?? "http://127.0.0.1:1";
  const { url: baseUrl, token } = given.provider ?? { url: "http://127.0.0.1:1/v1", token: "none" };
  const deps: Deps = {
    database,
    provider: createProvider({ token, baseUrl, fetch, now: Date.now }),
    storage: createStorage(platformUrl, "sb_secret_test", fetch),
    outputs: {
      isAllowed: outputHosts.parse(given.outputHosts ?? "replicate.delivery"),
      fetch,
      ...(given.maxBytes === undefined ? {} : { maxBytes: given.maxBytes }),
    },
    publicUrl: given.publicUrl ?? null,
    platformUrl,
    log: createLog({}, (line) => void lines.push(line)),
    now: Date.now,
  };
  return { deps, calls, lines };
}

/** A server for one test, on a free port of 127.0.0.1. Its end cuts answers that are still under way. */
export function serve(handler: (request: Request) => Response | Promise<Response>): string {
  const end = new AbortController();
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", signal: end.signal, onListen: () => {} }, handler);
  onTestFinished(() => end.abort());
  return `http://127.0.0.1:${server.addr.port}`;
}

/** The smallest PNG: one pixel. */
export const PNG = Uint8Array.fromBase64(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
);

export const never = (): AbortSignal => new AbortController().signal;

/** A server that keeps its connections, but closes one without a word once it has read a request for a path with `drop`. */
export const serveKeptAlive = () =>
  receive((socket, request) => {
    if (/^\S+ \S*drop/.test(request)) return socket.destroy();
    const headers = { "content-type": "application/json" };
    return socket.write(answer("200 OK", '{"id":"abc","status":"starting"}', headers));
  });
