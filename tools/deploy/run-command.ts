import { DeployError } from "./deploy-error.ts";

export type Ended = { code: number; stdout: string; stderr: string; isTooLate: boolean };

/** Unless the caller says otherwise. The CLI waits for an answer without end. */
const LIMIT_MS = 120_000;

/** Variables that hold secrets of the functions; no program started here needs them. */
const KEPT_BACK = /^(REPLICATE_|KEYFRAME_)/;

/**
 * Runs a program until it ends or its time is over. It gets the environment of this one (the login of the CLI is found by
 * it) without the functions' secrets.
 *
 * @param input what it reads: the place for secrets, since everybody on the machine can read a command line
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
    signal: limit,
  });
  const child = spawn(command);
  if (options.input !== undefined) await feed(child, options.input);
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

async function feed(child: Deno.ChildProcess, input: string): Promise<void> {
  const writer = child.stdin.getWriter();
  // One that ended before it read everything says why itself.
  await writer
    .write(new TextEncoder().encode(input))
    .then(() => writer.close())
    .catch(() => undefined);
}
