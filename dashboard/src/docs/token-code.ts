import { quote } from "./curl-of.ts";

type Project = { supabaseUrl: string; publishableKey: string };

/** Reads the token of the session that supabase-js keeps, and refreshes one that has run out. */
export const TOKEN_BY_SUPABASE_JS = "const token = (await supabase.auth.getSession()).data.session.access_token;";

/** Sets TOKEN in a shell. sed finds the token in the answer, for a machine without jq. */
export const tokenByCurl = ({ supabaseUrl, publishableKey }: Project, email: string): string =>
  [
    `TOKEN=$(curl -s ${quote(`${supabaseUrl}/auth/v1/token?grant_type=password`)}`,
    `-H ${quote(`apikey: ${publishableKey}`)} -H 'Content-Type: application/json'`,
    `-d ${quote(JSON.stringify({ email, password: "your password" }))} | sed 's/.*"access_token": *"\\([^"]*\\)".*/\\1/')`,
  ].join(" \\\n  ");

export const clientCode = ({ supabaseUrl, publishableKey }: Project): string =>
  `const supabase = createClient("${supabaseUrl}", "${publishableKey}");
const keyframe = createKeyframeClient({
  url: "${supabaseUrl}",
  apikey: "${publishableKey}",
  getToken: async () => (await supabase.auth.getSession()).data.session?.access_token ?? null,
});`;
