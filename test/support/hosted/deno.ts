import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { claimPort } from "../../../local/network.ts";
import { functionArguments, type FunctionName } from "../../../local/stack/function-arguments.ts";
import { until } from "../until.ts";

const path = (relative: string) => fileURLToPath(new URL(`../../../${relative}`, import.meta.url));

const FOLDER = path("test/support/hosted/deno-2.1");

/** The Deno version that the hosted platform is compatible with. */
export const HOSTED_DENO = `${FOLDER}/node_modules/@deno/linux-x64-glibc/deno`;

// It has a package.json of its own: 139 MB that no command but this test needs.
if (!existsSync(HOSTED_DENO) && Deno.build.os === "linux" && Deno.build.arch === "x86_64") {
  const { success, stderr } = await new Deno.Command("npm", { args: ["ci"], cwd: FOLDER }).output();
  if (!success) throw new Error(`npm ci in ${FOLDER}: ${new TextDecoder().decode(stderr)}`);
}

/** Why it cannot run here; undefined when it can. */
export const hostedDenoMissing = existsSync(HOSTED_DENO)
  ? undefined
  : `${HOSTED_DENO} is not installed; it exists for Linux on x64 only`;

export const HOSTED_SECRET = `whsec_${btoa("k".repeat(32))}`;

const ENVIRONMENT = {
  SUPABASE_PUBLISHABLE_KEYS: '{"default":"sb_publishable_made-up"}',
  SUPABASE_SECRET_KEYS: '{"default":"sb_secret_made-up"}',
  SUPABASE_JWKS: '{"keys":[]}',
  KEYFRAME_KICK_SECRET: HOSTED_SECRET,
  KEYFRAME_REPLICATE_API_TOKEN: "r8_made-up",
  KEYFRAME_REPLICATE_WEBHOOK_SECRET: HOSTED_SECRET,
  KEYFRAME_ALLOW_LOCAL_WEBHOOKS: "1",
  DENO_NO_UPDATE_CHECK: "1",
};

/** The stack's arguments for a function, with another file in place of its own. */
const argumentsFor = (name: FunctionName, port: number, file: string, hosts: string[] | "anywhere") => [
  ...functionArguments(name, port, hosts).slice(0, -1),
  file,
];

/** Starts a function as the stack does, until the test ends, or when `atEnd` says. Gives its address once it answers. */
export async function bootHosted(
  name: FunctionName,
  supabaseUrl: string,
  more: Record<string, string> = {},
  atEnd: (end: () => Promise<void>) => void = onTestFinished,
): Promise<string> {
  const port = claimPort(0);
  const file = await Deno.makeTempFile({ prefix: "keyframe-hosted-", suffix: ".js" });
  // That version does not know DENO_SERVE_ADDRESS, with which the local stack sets the port.
  await Deno.writeTextFile(
    file,
    `const serve = Deno.serve;
Deno.serve = (handler) => serve({ hostname: "127.0.0.1", port: ${port}, onListen: () => undefined }, handler);
await import(${JSON.stringify(path(`supabase/functions/${name}/index.ts`))});
`,
  );
  const hosts = name === "keyframe-deliver" ? "anywhere" : [new URL(supabaseUrl).host];
  const child = new Deno.Command(HOSTED_DENO, {
    args: argumentsFor(name, port, file, hosts),
    clearEnv: true,
    env: { ...ENVIRONMENT, SUPABASE_URL: supabaseUrl, ...more },
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const stderr = new Response(child.stderr).text();
  let ended = false;
  void child.status.then(() => {
    ended = true;
  });
  atEnd(async () => {
    if (!ended) child.kill("SIGKILL");
    await child.status;
    await Deno.remove(file);
  });
  await until(`${name} answers on the hosted platform's Deno`, async () => {
    if (ended) throw new Error(`${name} ended: ${await stderr}`);
    const response = await fetch(`http://127.0.0.1:${port}/`).catch(() => null);
    await response?.body?.cancel();
    return response !== null;
  });
  return `http://127.0.0.1:${port}/${name}`;
}

/**
 * The JSON that a script prints there, with a function's own permissions but other hosts. Throws what it wrote to
 * stderr instead.
 */
export async function runHosted(
  script: string,
  name: FunctionName,
  hosts: string[] | "anywhere",
  given: string[],
): Promise<unknown> {
  const { stdout, stderr } = await new Deno.Command(HOSTED_DENO, {
    args: [...argumentsFor(name, 0, path(script), hosts), ...given],
    clearEnv: true,
    env: ENVIRONMENT,
  }).output();
  const line = new TextDecoder().decode(stdout);
  if (line === "") throw new Error(new TextDecoder().decode(stderr));
  return JSON.parse(line);
}
