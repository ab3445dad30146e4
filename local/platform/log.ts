/** The gateway's log: one JSON line on stdout. Never pass it a token, a key or a password. */
export function log(level: "info" | "warn" | "error", message: string, details: Record<string, unknown> = {}): void {
  console.log(JSON.stringify({ time: new Date().toISOString(), level, part: "platform", message, ...details }));
}
