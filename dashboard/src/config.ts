/** The dashboard's settings. Served as config.json beside the page, so that one build fits every project. */
export type Config = {
  /** The Supabase project; without a trailing slash. */
  supabaseUrl: string;
  publishableKey: string;
  /** Set by the local stack only. */
  demoUser: { email: string; password: string } | null;
};

/** Throws an error to show when config.json is missing or unusable. */
export async function loadConfig(): Promise<Config> {
  const response = await fetch("./config.json", { cache: "no-store" }).catch(() => {
    throw new Error("Cannot reach the server. Check your connection, then reload.");
  });
  const given: unknown = response.ok ? await response.json().catch(() => null) : null;
  const config = read(given);
  if (config === null) {
    throw new Error("config.json is missing. Build the dashboard with SUPABASE_URL and SUPABASE_PUBLISHABLE_KEY.");
  }
  return config;
}

function read(given: unknown): Config | null {
  if (typeof given !== "object" || given === null) return null;
  const { supabaseUrl, publishableKey, demoUser } = given as Record<string, unknown>; // each is looked at below
  if (typeof publishableKey !== "string") return null;
  // Without supabaseUrl the page is served by the project's own gateway.
  const url = typeof supabaseUrl === "string" ? supabaseUrl : location.origin;
  return { supabaseUrl: url.replace(/\/+$/, ""), publishableKey, demoUser: readUser(demoUser) };
}

function readUser(given: unknown): Config["demoUser"] {
  if (typeof given !== "object" || given === null) return null;
  const { email, password } = given as Record<string, unknown>; // each is looked at here
  return typeof email === "string" && typeof password === "string" ? { email, password } : null;
}
