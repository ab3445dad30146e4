import type { Plugin } from "vite";

/**
 * Writes the Content-Security-Policy into the page, because static hosts do not send our headers: scripts from this origin only,
 * files and requests from this origin and the Supabase project only. Inline styles are allowed: the component library needs them.
 *
 * @param supabaseUrl where the project is, when that is not the dashboard's own origin
 */
export function contentSecurityPolicy(supabaseUrl: string | undefined): Plugin {
  const project = supabaseUrl === undefined ? "" : ` ${new URL(supabaseUrl).origin}`;
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    `img-src 'self' blob: data:${project}`,
    `media-src 'self' blob:${project}`,
    "font-src 'self'",
    `connect-src 'self'${project}`,
    "base-uri 'none'",
    "form-action 'self'",
  ].join("; ");
  return {
    name: "content-security-policy",
    apply: "build",
    transformIndexHtml: () => [
      { tag: "meta", attrs: { "http-equiv": "Content-Security-Policy", content: policy }, injectTo: "head-prepend" },
    ],
  };
}

type Project = { supabaseUrl: string; publishableKey: string; creditUrl?: string };

/** The project of this build. Null without both variables: then the server of the pages provides config.json. */
export function readProject(variables: Record<string, string | undefined>): Project | null {
  const { SUPABASE_URL: supabaseUrl = "", SUPABASE_PUBLISHABLE_KEY: publishableKey = "" } = variables;
  const creditUrl = variables.KEYFRAME_CREDIT_URL ?? "";
  if (supabaseUrl === "" && publishableKey === "") return null;
  if (supabaseUrl === "" || publishableKey === "") {
    throw new Error("Set both SUPABASE_URL and SUPABASE_PUBLISHABLE_KEY, or neither.");
  }
  if (!URL.canParse(supabaseUrl)) throw new Error("SUPABASE_URL must be the address of a Supabase project.");
  if (publishableKey.startsWith("sb_secret_")) {
    throw new Error("SUPABASE_PUBLISHABLE_KEY holds the secret key. Anybody could read it: use the publishable one.");
  }
  if (creditUrl === "") return { supabaseUrl, publishableKey };
  if (!/^https?:\/\//.test(creditUrl) || !URL.canParse(creditUrl))
    throw new Error("KEYFRAME_CREDIT_URL must be the address of a page, such as https://app.example/credit.");
  return { supabaseUrl, publishableKey, creditUrl };
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
