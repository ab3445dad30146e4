import { existsSync } from "node:fs";
import { join } from "node:path";
import { PROJECT_ROOT } from "./project-root.ts";

export type Ended = { code: number; stdout: string; stderr: string; isTooLate: boolean };

/** Variables with the functions' secrets. No program started here needs them. */
const KEPT_BACK = /^(REPLICATE_|KEYFRAME_)/;

type Options = {
  cwd: string;
  /** The variables that the program inherits. */
  environment: Record<string, string>;
  env?: Record<string, string>;
  input?: string;
  /** The program is ended after this time. */
  limitMs?: number;
  /** Ends the program too. */
  stop?: AbortSignal;
};

/**
 * Runs a program until it ends or its time is over, with an environment without the functions' secrets. Secrets go into `input` or `env`,
 * because anyone on the machine can read a command line.
 */
export async function runProgram(program: string, args: string[], options: Options): Promise<Ended> {
  const { cwd, environment, env, input, limitMs, stop } = options;
  const limit = limitMs === undefined ? undefined : AbortSignal.timeout(limitMs);
  const inherited = Object.entries(environment).filter(([name]) => !KEPT_BACK.test(name));
  const child = new Deno.Command(program, {
    args,
    cwd,
    clearEnv: true,
    env: { ...Object.fromEntries(inherited), ...env },
    stdin: input === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.any([limit, stop].filter((signal) => signal !== undefined)),
  }).spawn();
  if (input !== undefined) {
    // A program that ends before it has read everything reports the reason itself.
    await new Blob([input])
      .stream()
      .pipeTo(child.stdin)
      .catch(() => undefined);
  }
  const { code, stdout, stderr } = await child.output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr), isTooLate: limit?.aborted ?? false };
}

/** A start takes 0.65 s of a core with this, 0.9 s without (CLI 3.1): the CLI ends before the work of Bun's second compiler pays off. */
const QUICK_START = { BUN_JSC_useDFGJIT: "0" };

/** Runs this checkout's Supabase CLI, without telemetry. */
export async function runSupabaseCli(args: string[], options: Options): Promise<Ended> {
  const env = { SUPABASE_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1", ...QUICK_START, ...options.env };
  try {
    return await runProgram(findCli(), args, { ...options, env });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Error("The Supabase CLI is missing from node_modules: run `npm ci`.");
  }
}

/** The binary itself is used, because the script in node_modules/.bin does not pass on `--env-file=/dev/stdin`. */
function findCli(): string {
  const system = `${Deno.build.os}-${Deno.build.arch === "aarch64" ? "arm64" : "x64"}`;
  const pathOf = (name: string) => join(PROJECT_ROOT, "node_modules/@supabase", `cli-${name}`, "bin/supabase");
  return [system, `${system}-musl`].map(pathOf).find((path) => existsSync(path)) ?? pathOf(system);
}

/** Runs the CLI with a home of its own, in this checkout or in another project's folder, for a database on this machine. */
export const supabaseCli = (
  args: string[],
  home: string,
  {
    env,
    signal,
    project = PROJECT_ROOT,
  }: { env?: Record<string, string>; signal?: AbortSignal | undefined; project?: string } = {},
): Promise<Ended> =>
  runSupabaseCli(args, {
    cwd: project,
    environment: Deno.env.toObject(),
    env: { HOME: home, PGSSLMODE: "disable", ...env },
    ...(signal && { stop: signal }),
  });
