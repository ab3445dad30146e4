import type { Plugin } from "vite";

export type Project = { supabaseUrl: string; publishableKey: string };

/** The project that a build is for. Null without both variables: then whoever serves the pages tells them (npm start does). */
export function readProject(variables: Record<string, string | undefined>): Project | null {
  const { SUPABASE_URL: supabaseUrl = "", SUPABASE_PUBLISHABLE_KEY: publishableKey = "" } = variables;
  if (supabaseUrl === "" && publishableKey === "") return null;
  if (supabaseUrl === "" || publishableKey === "") {
    throw new Error("Set both SUPABASE_URL and SUPABASE_PUBLISHABLE_KEY, or neither.");
  }
  if (!URL.canParse(supabaseUrl)) throw new Error("SUPABASE_URL must be the address of a Supabase project.");
  if (publishableKey.startsWith("sb_secret_")) {
    throw new Error("SUPABASE_PUBLISHABLE_KEY holds the secret key. Anybody could read it: use the publishable one.");
  }
  return { supabaseUrl, publishableKey };
}

/** Puts config.json beside the pages. */
export function projectConfig(project: Project | null): Plugin {
  return {
    name: "project-config",
    apply: "build",
    generateBundle() {
      if (project === null) return;
      this.emitFile({ type: "asset", fileName: "config.json", source: `${JSON.stringify(project, null, 2)}\n` });
    },
  };
}
