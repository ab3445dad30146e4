import { DeployError } from "./output.ts";

export type Ended = { code: number; stdout: string; stderr: string; isTooLate: boolean };

/** The default limit. The CLI itself waits without one. */
const LIMIT_MS = 120_000;

/** Variables with the functions' secrets. No program started here needs them. */
const KEPT_BACK = /^(REPLICATE_|KEYFRAME_)/;

/**
 * Runs a program until it ends or its time is over, with this process's environment (which holds the CLI's login)
 * without the functions' secrets. Secrets go into `input`, because everybody can read a command line.
 */
export async function runCommand(
  program: string,
  args: string[],
  options: {
    cwd: string;
    environment: Record<string, string>;
    env?: Record<string, string>;
    input?: string;
    limitMs?: number;
    /** Ends the program too. */
    stop?: AbortSignal;
  },
): Promise<Ended> {
  const limit = AbortSignal.timeout(options.limitMs ?? LIMIT_MS);
  const inherited = Object.entries(options.environment).filter(([name]) => !KEPT_BACK.test(name));
  const command = new Deno.Command(program, {
    args,
    cwd: options.cwd,
    clearEnv: true,
    env: { ...Object.fromEntries(inherited), ...options.env },
    stdin: options.input === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
    signal: options.stop === undefined ? limit : AbortSignal.any([limit, options.stop]),
  });
  const child = spawn(command);
  if (options.input !== undefined) {
    // A program that ends before it has read everything reports the reason itself.
    await new Blob([options.input])
      .stream()
      .pipeTo(child.stdin)
      .catch(() => undefined);
  }
  const { code, stdout, stderr } = await child.output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr), isTooLate: limit.aborted };
}

function spawn(command: Deno.Command): Deno.ChildProcess {
  try {
    return command.spawn();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      throw new DeployError("The Supabase CLI is missing from node_modules: run `npm ci`.");
    }
    throw error;
  }
}
