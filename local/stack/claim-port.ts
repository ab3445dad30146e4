import { freePort } from "../postgres/free-port.ts";

/** The port, when it is free on 127.0.0.1 (0: any free one). Throws one line when somebody has it. */
export function claimPort(port: number): number {
  if (port === 0) return freePort();
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
    return port;
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    throw new Error(
      `Port ${port} is busy. Is another stack running? Choose another one: npm start -- --port ${port + 10}`,
    );
  }
}
