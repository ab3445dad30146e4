/** Where the dashboard finds its project. Served beside the page as config.json, so that one build fits every project. */
export type Config = {
  /** The Supabase project; without a trailing slash. */
  supabaseUrl: string;
  publishableKey: string;
  /** Only a local stack tells one. */
  demoUser: { email: string; password: string } | null;
};

/** Throws a sentence for a person when there is no usable config.json. */
export async function loadConfig(): Promise<Config> {
  const response = await fetch("./config.json", { cache: "no-store" }).catch(() => {
    throw new Error("The server does not answer. Check your connection, then load the page again.");
  });
  const given: unknown = response.ok ? await response.json().catch(() => null) : null;
  const config = read(given);
  if (config === null) {
    throw new Error(
      "There is no config.json beside this page. Build it with SUPABASE_URL and SUPABASE_PUBLISHABLE_KEY.",
    );
  }
  return config;
}

function read(given: unknown): Config | null {
  if (typeof given !== "object" || given === null) return null;
  const { supabaseUrl, publishableKey, demoUser } = given as Record<string, unknown>; // each is looked at below
  if (typeof publishableKey !== "string") return null;
  // Served by the project's own gateway, the project is where the page is.
  const url = typeof supabaseUrl === "string" ? supabaseUrl : location.origin;
  return { supabaseUrl: url.replace(/\/+$/, ""), publishableKey, demoUser: readUser(demoUser) };
}

function readUser(given: unknown): Config["demoUser"] {
  if (typeof given !== "object" || given === null) return null;
  const { email, password } = given as Record<string, unknown>; // each is looked at here
  return typeof email === "string" && typeof password === "string" ? { email, password } : null;
}
