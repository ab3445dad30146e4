import postgres from "postgres";
import { sha256Hex } from "../../../tools/digests.ts";
import { DeployedFunctions, readUpload, type Uploaded } from "./deploy-functions.ts";

export const PROJECT = "abcdefghijklmnopqrst";
export const REPLICATE_TOKEN = "r8_4b1f0e2d3c4b5a69788796a5b4c3d2e1f0";
export const SIGNING_SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

/** An answer instead of the ordinary one: `"GET /secrets": 403`, or with a body. A function may take its time, and answer nothing. */
type Fault = number | { status: number; body: unknown } | ((request: Request) => Promise<Response | undefined>);

/** The hosted side of a deployment on loopback: Management API, Replicate's API and the deployed functions, in one server. */
export class DeployPlatform {
  requests: string[] = [];
  uploads: Uploaded[] = [];
  secrets = new Map<string, string>();
  functions = new DeployedFunctions();
  api = {
    db_schema: "public,graphql_public,app",
    db_extra_search_path: "public, extensions",
    max_rows: 1000,
  };
  faults: Record<string, Fault> = {};
  /** Secrets that stood in a process's command line while a request was answered. */
  leaks: string[] = [];
  /** Whether the commands that asked were seen at all: without it, no leak would mean nothing. */
  watched = false;
  readonly url: string;
  readonly #sql: postgres.Sql;
  readonly #rest: postgres.Sql;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  /** @param databaseUrl of the role `postgres`, as the platform runs SQL */
  constructor(databaseUrl: string) {
    this.#sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
    this.#rest = postgres(databaseUrl, { max: 4, onnotice: () => undefined });
    this.#server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => undefined }, (request) =>
      this.#answer(request),
    );
    this.url = `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /**
   * The requests to the Management API since the last call that change something. A query does unless it asked to be read only.
   * Those to the functions and the Data API are left out: workers make them at any time.
   */
  takeWrites(): string[] {
    const taken = this.requests.filter((line) => !/^GET | read only$| \/(functions|rest)\/v1\//.test(line));
    this.requests = [];
    return taken;
  }

  async stop(): Promise<void> {
    await this.functions.stop();
    await this.#server.shutdown();
    await this.#sql.end({ timeout: 5 });
    await this.#rest.end({ timeout: 5 });
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const path = pathname.replace(`/v1/projects/${PROJECT}`, "");
    const slug = searchParams.get("slug") ?? "";
    this.#lookForLeaks();
    const fault = this.faults[`${request.method} ${path}`] ?? this.faults[`${request.method} ${path} ${slug}`];
    if (typeof fault === "function") {
      const answer = await fault(request.clone());
      if (answer !== undefined) return answer;
    } else if (fault !== undefined) {
      await request.body?.cancel();
      this.requests.push(`${request.method} ${path}`);
      const { status, body } = typeof fault === "number" ? { status: fault, body: { message: "refused" } } : fault;
      return Response.json(body, { status });
    }
    if (path === "/database/query") return this.#query(await request.json());
    this.requests.push(`${request.method} ${path}`);
    if (path.startsWith("/functions/v1/")) {
      return await this.functions.answer(request, path.slice("/functions/v1".length), this.url, this.secrets);
    }
    switch (`${request.method} ${path}`) {
      case "GET ":
        return Response.json({ id: PROJECT, ref: PROJECT, name: "film", status: "ACTIVE_HEALTHY" });
      case "GET /billing/addons":
        return Response.json({ selected_addons: [], available_addons: [] });
      case `GET /v2/projects/${PROJECT}/config`:
        return Response.json(remoteConfig(this.api));
      case "PATCH /postgrest":
        Object.assign(this.api, await request.json());
        return Response.json(remoteConfig(this.api).data.attributes.api);
      case "GET /api-keys":
        return Response.json([{ id: "1", name: "default", type: "publishable", api_key: "sb_publishable_of_film" }]);
      case "GET /secrets":
        return Response.json([...this.digests()].map(([name, value]) => ({ name, value })));
      case "POST /secrets":
        for (const { name, value } of await request.json()) this.secrets.set(name, value);
        return Response.json({}, { status: 201 });
      case "GET /functions":
        return Response.json(this.functions.list());
      case "POST /functions/deploy": {
        const upload = await readUpload(request, slug);
        this.uploads.push(upload);
        const bundled = this.functions.bundled(upload);
        if (searchParams.get("bundleOnly") !== "true") this.functions.activate([bundled]);
        return Response.json(bundled, { status: 201 });
      }
      case "PUT /functions": {
        const functions = await request.json();
        this.functions.activate(functions);
        return Response.json({ functions });
      }
      case "GET /replicate/v1/webhooks/default/secret":
        return request.headers.get("authorization") === `Bearer ${REPLICATE_TOKEN}`
          ? Response.json({ key: SIGNING_SECRET })
          : Response.json({ detail: "Unauthenticated" }, { status: 401 });
      default:
        if (path.startsWith("/rest/v1/rpc/")) return Response.json(await this.#call(request, path.split("/")[4] ?? ""));
        return Response.json({ message: `No ${path} here` }, { status: 404 });
    }
  }

  /** As the Data API does: calls a SQL function with named arguments. A worker's claim may wait there for work. */
  async #call(request: Request, name: string): Promise<unknown> {
    const schema = request.headers.get("content-profile") ?? "keyframe";
    const given: Record<string, unknown> = await request.json();
    const literal = (value: unknown) =>
      `'${(typeof value === "object" ? JSON.stringify(value) : String(value)).replaceAll("'", "''")}'`;
    const named = Object.entries(given).map(([key, value]) => `${key} => ${literal(value)}`);
    const rows = await this.#rest.unsafe(`select ${schema}.${name}(${named.join(", ")}) as answer`);
    const [set] = await this.#rest`select proretset from pg_proc where proname = ${name}`;
    return set?.proretset ? rows.map(({ answer }) => answer) : rows[0]?.answer;
  }

  async #query({ query, read_only }: { query: string; read_only?: boolean }): Promise<Response> {
    this.requests.push(`POST /database/query${read_only ? " read only" : ""}`);
    try {
      const results: unknown = await this.#sql.begin(read_only ? "read only" : "read write", (transaction) =>
        transaction.unsafe(query).simple(),
      );
      const several = Array.isArray(results) && Array.isArray(results[0]);
      return Response.json(several ? results.at(-1) : results, { status: 201 });
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error);
      return Response.json({ message: `Failed to run sql query: ERROR: ${said}` }, { status: 400 });
    }
  }

  /** The secrets as the platform lists them. */
  digests(): Map<string, string> {
    return new Map([...this.secrets].map(([name, value]) => [name, sha256Hex(value)]));
  }

  #lookForLeaks(): void {
    const lines = ownCommandLines();
    this.watched ||= lines.some((line) => line.includes(`--remote=${PROJECT}`));
    const secrets = [REPLICATE_TOKEN, SIGNING_SECRET, "whsec_", ...this.secrets.values()].filter(
      (secret) => !secret.startsWith("http"),
    );
    this.leaks.push(...lines.filter((line) => secrets.some((secret) => line.includes(secret))));
  }
}

/** The settings of a hosted project as far as the CLI needs them; as of a new one, with a few an owner chose. */
function remoteConfig(settings: DeployPlatform["api"]) {
  const auth = {
    site_url: "https://film.example.com",
    mailer_autoconfirm: false,
    external_anonymous_users_enabled: false,
  };
  const pool = { db_pool_acquisition_timeout: 10, db_pool_max_lifetime: 1800, db_pool_max_idletime: 30, db_pool: null };
  const attributes = { database: { major_version: 17 }, auth, api: { ...settings, ...pool } };
  return { data: { type: "project_config", id: PROJECT, attributes } };
}

/** The command lines of the processes that this one started, and of theirs. Linux only; elsewhere none are seen. */
function ownCommandLines(parent: number | "self" = "self"): string[] {
  const threads = readOrNothing(() => Array.from(Deno.readDirSync(`/proc/${parent}/task`), ({ name }) => name));
  const children = threads.flatMap((thread) =>
    readOrNothing(() => Deno.readTextFileSync(`/proc/${parent}/task/${thread}/children`).split(" ")),
  );
  return children
    .filter((pid) => pid !== "")
    .flatMap((pid) => [
      ...readOrNothing(() => [Deno.readTextFileSync(`/proc/${pid}/cmdline`).replaceAll("\0", " ")]),
      ...ownCommandLines(Number(pid)),
    ]);
}

/** A process may end while it is looked at. */
function readOrNothing(read: () => string[]): string[] {
  try {
    return read();
  } catch {
    return [];
  }
}
