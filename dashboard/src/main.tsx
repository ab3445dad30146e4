import "@mantine/core/styles.css";
import { createRoot } from "react-dom/client";
import "./app/app.css";
import { App } from "./app/App.tsx";
import { loadConfig } from "./config.ts";
import { createServices } from "./services.ts";
import { readLink, restoreSession } from "./session/start-session.ts";

const element = document.getElementById("root");
if (element === null) throw new Error("index.html has no element with the id root.");
const root = createRoot(element);

try {
  const config = await loadConfig();
  // `readLink` must run before Auth and the router, which read and change the fragment of the URL.
  const link = readLink(window.location);
  const services = createServices(config);
  const restored = await restoreSession(services.auth);
  // Auth leaves the fragment when it found no session. The router would read it as a route.
  if (link.isFromMail) window.history.replaceState(null, "", window.location.pathname + window.location.search);
  root.render(<App services={services} link={link} restored={restored} />);
} catch (error) {
  root.render(<StartFailed reason={error instanceof Error ? error.message : String(error)} />);
}

/** Says why the dashboard cannot start. Uses no library, because a library may have failed to load. */
function StartFailed({ reason }: { reason: string }) {
  return (
    <main style={{ maxWidth: "36rem", margin: "20vh auto", padding: "0 1rem", fontFamily: "system-ui, sans-serif" }}>
      <h1>Keyframe cannot start</h1>
      <p role="alert">{reason}</p>
    </main>
  );
}
