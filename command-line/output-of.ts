type Options = Pick<Deno.CommandOptions, "cwd" | "env">;

/** What a program prints. When it fails, throws what it printed about that; `cause` is its exit code. */
export async function outputOf(program: string, args: string[], options: Options = {}): Promise<string> {
  const { success, code, stdout, stderr } = await new Deno.Command(program, { args, ...options }).output();
  const read = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
  if (!success) throw new Error(`${program} ${args[0]} failed: ${read(stderr) || read(stdout)}`, { cause: code });
  return read(stdout);
}
