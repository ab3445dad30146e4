import type { Plugin } from "vite";

/**
 * Writes the policy into the page, since static hosts send no headers of ours: own scripts alone, files and calls of the
 * Supabase project alone, no frame around anything. Styles may stand in attributes and elements: the component library
 * computes sizes and positions there.
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
