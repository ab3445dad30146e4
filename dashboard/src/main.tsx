import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "./app/app.css";
import { createRoot } from "react-dom/client";
import { App } from "./app/App.tsx";
import { StartFailed } from "./app/StartFailed.tsx";
import { loadConfig } from "./config.ts";
import { createServices } from "./services.ts";
import { readLink } from "./session/read-link.ts";
import { takeUpSession } from "./session/take-up-session.ts";

const element = document.getElementById("root");
if (element === null) throw new Error("index.html has no element with the id root.");
const root = createRoot(element);

try {
  const config = await loadConfig();
  // Before the client of Auth and the router look at the address: a link from a mail brings its outcome behind the #.
  const link = readLink(window.location);
  const services = createServices(config);
  const takenUp = await takeUpSession(services.auth);
  // The client leaves the outcome there when it took nothing from it; the router would take it for a page.
  if (link.isFromMail) window.history.replaceState(null, "", window.location.pathname + window.location.search);
  root.render(<App services={services} link={link} takenUp={takenUp} />);
} catch (error) {
  root.render(<StartFailed reason={error instanceof Error ? error.message : String(error)} />);
}
