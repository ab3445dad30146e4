import { createServerClient } from "@supabase/ssr";
import { type NextRequest, NextResponse } from "next/server";
import { apikey, url } from "./lib/settings";

/** Refreshes an expired session before a page or a route reads it: a page cannot set cookies. */
export async function proxy(request: NextRequest) {
  let response = NextResponse.next({ request });
  const supabase = createServerClient(url, apikey, {
    cookies: {
      getAll: () => request.cookies.getAll(),
      setAll: (changed) => {
        for (const { name, value } of changed) request.cookies.set(name, value);
        response = NextResponse.next({ request });
        for (const { name, value, options } of changed) response.cookies.set(name, value, options);
      },
    },
  });
  await supabase.auth.getSession();
  return response;
}

export const config = { matcher: ["/((?!_next/|favicon.ico).*)"] };
