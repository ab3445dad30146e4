/** What an error says, in one line and without its stack. */
export function oneLine(error: unknown): string {
  const said = error instanceof Error ? error.message || error.name : String(error);
  return said.replace(/\s*\n\s*/g, " ").trim();
}
