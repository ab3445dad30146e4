import { freePort, waitForPort } from "../../../local/network.ts";
import { ChildProcess } from "../../../local/stack/child-process.ts";
import { machineVariables } from "../../../local/stack/describe-children.ts";
import { FUNCTION_NAMES, type FunctionName, functionArguments } from "../../../local/stack/function-arguments.ts";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { functionEnvironments } from "../../../shared/platform/environment.ts";

/** One function as the CLI uploaded it. */
export type Uploaded = {
  slug: string;
  /** Every file's path as the CLI named it. */
  files: string[];
  /** Path → content. */
  contents: Map<string, string>;
  metadata: { entrypoint_path?: string; import_map_path?: string; verify_jwt?: boolean };
};

/** Reads the multipart body of `POST …/functions/deploy`. */
export async function readUpload(request: Request, slug: string): Promise<Uploaded> {
  const form = await request.formData();
  const metadata = form.get("metadata");
  const text = typeof metadata === "string" ? metadata : ((await metadata?.text()) ?? "{}");
  const parts = form.getAll("file").filter((part) => typeof part !== "string");
  const contents = new Map(await Promise.all(parts.map(async (part) => [part.name, await part.text()] as const)));
  const files = [...contents.keys()];
  // What the CLI sends; a test that gets something else fails by it.
  return { slug, files: files.sort(), contents, metadata: JSON.parse(text) as Uploaded["metadata"] };
}

/** A function as the platform lists it. Times are milliseconds since 1970. */
type DeployedFunction = {
  id: string;
  slug: string;
  version: number;
  created_at: number;
  updated_at: number;
} & Record<string, unknown>;

/** What the platform gives every function; its own secrets are added. */
const GIVEN = {
  SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: "sb_publishable_of_film" }),
  SUPABASE_SECRET_KEYS: JSON.stringify({ default: "sb_secret_of_film" }),
  SUPABASE_JWKS: JSON.stringify({ keys: [] }),
};

type Booted = { address: string | undefined; stop: () => Promise<void> };

/**
 * The functions of a hosted project: which versions are deployed, and each as a process of Deno that boots with the project's
 * secrets when the first request comes. One that dies at boot answers 503 BOOT_ERROR, as the platform does.
 * A new process is made only when what it reads changes: the code is that of the checkout in every version.
 */
export class DeployedFunctions {
  readonly #rows = new Map<string, DeployedFunction>();
  readonly #booted = new Map<string, Promise<Booted>>();

  list(): DeployedFunction[] {
    return [...this.#rows.values()];
  }

  /** What an upload answers; only `activate` makes it run. */
  bundled({ slug, metadata }: Uploaded): DeployedFunction {
    const before = this.#rows.get(slug);
    const now = Date.now();
    return {
      id: `00000000-0000-4000-8000-${slug.length.toString().padStart(12, "0")}`,
      slug,
      name: slug,
      status: "ACTIVE",
      version: (before?.version ?? 0) + 1,
      created_at: before?.created_at ?? now,
      updated_at: now,
      verify_jwt: metadata.verify_jwt ?? true,
      entrypoint_path: metadata.entrypoint_path ?? "",
      import_map_path: metadata.import_map_path ?? "",
    };
  }

  /** Those named run from now on, the others stay as they are. */
  activate(rows: DeployedFunction[]): void {
    for (const row of rows) this.#rows.set(row.slug, { ...row, updated_at: Date.now() });
  }

  remove(slug: string): void {
    this.#rows.delete(slug);
  }

  /** What `…/functions/v1/<slug>/…` answers. */
  async answer(request: Request, path: string, url: string, secrets: Map<string, string>): Promise<Response> {
    const slug = path.split("/")[1] ?? "";
    const name = FUNCTION_NAMES.find((known) => known === slug);
    if (name === undefined || !this.#rows.has(slug)) {
      await request.body?.cancel();
      return Response.json({ code: "NOT_FOUND", message: "Requested function was not found" }, { status: 404 });
    }
    const { address } = await this.#boot(name, url, secrets);
    const body = request.body === null ? null : await request.arrayBuffer();
    if (address === undefined) {
      const message = "Function failed to start (please check logs)";
      return Response.json({ code: "BOOT_ERROR", message }, { status: 503 });
    }
    return await fetch(`${address}${path}`, { method: request.method, headers: request.headers, body });
  }

  async stop(): Promise<void> {
    for (const booted of this.#booted.values()) await (await booted).stop();
  }

  #boot(name: FunctionName, url: string, secrets: Map<string, string>): Promise<Booted> {
    const all = Object.entries({ ...GIVEN, SUPABASE_URL: url, ...Object.fromEntries(secrets) });
    const env = Object.fromEntries(all.filter(([variable]) => variable in functionEnvironments[name].shape));
    const key = JSON.stringify([name, env]);
    const booted = this.#booted.get(key) ?? boot(name, url, env);
    this.#booted.set(key, booted);
    return booted;
  }
}

async function boot(name: FunctionName, url: string, variables: Record<string, string>): Promise<Booted> {
  const port = freePort();
  const child = new ChildProcess({
    name,
    args: functionArguments(name, port, [new URL(url).host]),
    env: { ...variables, ...machineVariables(), DENO_SERVE_ADDRESS: `tcp:127.0.0.1:${port}` },
    cwd: PROJECT_ROOT,
    logFile: "/dev/null",
    ready: (_firstLine, ended) => waitForPort(port, ended),
    startTimeoutMs: 60_000,
    onUnexpectedEnd: () => undefined,
  });
  const address = await child.start().then(
    () => `http://127.0.0.1:${port}`,
    () => undefined,
  );
  return { address, stop: () => child.stop() };
}
