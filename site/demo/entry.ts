import { createBackend } from "./backend.ts";
import { placeRecording } from "./recording.ts";

// The dashboard's own fetch: what it asks of its Supabase project is answered here, so nothing leaves the page.
const base = new URL(".", document.baseURI).href.replace(/\/$/, "");
const load = globalThis.fetch.bind(globalThis);
const SERVICE = /^\/(config\.json|(?:auth|rest|storage)\/v1|functions\/v1\/api)(.*)$/;
const demoUser = { email: "you@demo.invalid", password: "demo" };

const opened = load("recording.json").then(async (file) => {
  const recording = placeRecording(await file.text(), base, Date.now());
  return { ...recording, backend: createBackend(recording, Date.now) };
});
const sessionOf = (id: string) => ({
  ...{ access_token: "demo", refresh_token: "demo", token_type: "bearer", expires_in: 1e8, expires_at: 4_102_444_800 },
  user: { id, email: demoUser.email, aud: "authenticated", app_metadata: {}, user_metadata: {}, created_at: "" },
});

globalThis.fetch = async (input, init) => {
  const request = new Request(input, init);
  const { pathname, searchParams: query } = new URL(request.url);
  const [, service, path = ""] = SERVICE.exec(pathname.slice(new URL(base).pathname.length)) ?? [];
  const { backend, answers, films, userId } = await opened;
  if (service === undefined || (service === "storage/v1" && request.method === "GET")) return await load(input, init);
  if (service === "config.json") {
    // Where auth-js keeps it; before the dashboard looks.
    localStorage.setItem(`sb-${location.hostname.split(".")[0]}-auth-token`, JSON.stringify(sessionOf(userId)));
    if (location.hash === "") location.hash = `/films/${films[0]?.filmId}`;
    return Response.json({ supabaseUrl: base, publishableKey: "sb_publishable_demo", demoUser });
  }
  await new Promise((resolve) => setTimeout(resolve, 80)); // a quick service
  request.signal.throwIfAborted();
  const isJson = request.headers.get("content-type")?.includes("json") && request.method !== "GET";
  const body = isJson ? await request.json().catch(() => ({})) : {};
  if (service === "auth/v1") return Response.json(sessionOf(userId));
  if (service === "storage/v1") return Response.json({ signedURL: path });
  if (path === "/rpc/webhook_health") return Response.json(answers[`${path}?${body.endpoint_id ?? ""}`]);
  if (service === "rest/v1") return Response.json(backend.rowsOf(path, query));
  const answer = backend.call(request.method, path, query, body);
  return Response.json(answer.body, { status: answer.status });
};

const banner = document.createElement("aside");
banner.ariaLabel = "About this demo";
banner.style.cssText =
  "position: fixed; inset: auto 0 0; z-index: 90; padding: .5rem 1rem; background: #364fc7; color: #fff; font: 14px/1.4 system-ui; text-align: center";
banner.innerHTML =
  'Simulated: a recorded film; nothing leaves this page. Press Generate in the shot “Lighthouse at noon”, or in the project “A prompt that is refused”. <a href="../" style="color: inherit">What Keyframe is</a>';
document.body.append(banner);
document.body.style.paddingBlockEnd = "4rem"; // the end of a page is above it
