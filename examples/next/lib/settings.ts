/** Next.js puts these two into the pages when it builds them, so each is written out. Both are public. */
export const url = mustBeSet("NEXT_PUBLIC_SUPABASE_URL", process.env.NEXT_PUBLIC_SUPABASE_URL);
export const apikey = mustBeSet(
  "NEXT_PUBLIC_SUPABASE_PUBLISHABLE_KEY",
  process.env.NEXT_PUBLIC_SUPABASE_PUBLISHABLE_KEY,
);

function mustBeSet(name: string, value: string | undefined): string {
  if (!value) throw new Error(`Set ${name}, for example in .env.local.`);
  return value;
}
