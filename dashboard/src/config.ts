/** The dashboard's settings. Served as config.json beside the page, so that one build fits every project. */
export type Config = {
  /** The URL of the Supabase project, without a trailing slash. */
  supabaseUrl: string;
  publishableKey: string;
  /** Only the local stack sets this user. */
  demoUser: { email: string; password: string } | null;
  /** Where users of the app add credit to their balance. Null: nowhere. */
  creditUrl: string | null;
};

/** Throws an error for the user when config.json is missing or unusable. */
export async function loadConfig(): Promise<Config> {
  const response = await fetch("./config.json", { cache: "no-store" }).catch(() => {
    throw new Error("Cannot reach the server. Check your connection, then reload.");
  });
  const given: Partial<Config> | null = response.ok ? await response.json().catch(() => null) : null;
  if (typeof given?.publishableKey !== "string") {
    throw new Error("config.json is missing. Build the dashboard with SUPABASE_URL and SUPABASE_PUBLISHABLE_KEY.");
  }
  // Without supabaseUrl the page is served by the project's own gateway.
  const { supabaseUrl = location.origin, publishableKey, demoUser = null, creditUrl = null } = given;
  return { supabaseUrl: supabaseUrl.replace(/\/+$/, ""), publishableKey, demoUser, creditUrl };
}
