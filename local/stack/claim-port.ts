import { freePort } from "../postgres/free-port.ts";

/** The port, when it is free on 127.0.0.1 (0: any free one). Throws one line when it cannot be had. */
export function claimPort(port: number): number {
  if (port === 0) return freePort();
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
    return port;
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) {
      throw new Error(`Port ${port} is busy. Is another stack running? Choose another port with --port, or 0 for any.`);
    }
    if (error instanceof Deno.errors.PermissionDenied) {
      throw new Error(`Port ${port} is not for ordinary users: choose one above 1023 with --port.`);
    }
    throw error;
  }
}
