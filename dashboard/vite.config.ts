import process from "node:process";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { contentSecurityPolicy } from "./content-security-policy.ts";
import { projectConfig, readProject } from "./project-config.ts";

const project = readProject(process.env);

const PROXIED = ["/auth", "/rest", "/storage", "/functions", "/config.json"];

export default defineConfig({
  root: import.meta.dirname,
  base: "./", // works in any folder of any host; the addresses of pages are behind the #
  plugins: [react(), contentSecurityPolicy(project?.supabaseUrl), projectConfig(project)],
  // For work on the pages themselves, beside a running `npm start`: npm run dashboard.
  server: { host: "127.0.0.1", proxy: Object.fromEntries(PROXIED.map((path) => [path, "http://127.0.0.1:54321"])) },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2023",
    // The first with light-dark(): for older ones it would be rewritten into what the component library never sets.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    chunkSizeWarningLimit: 700,
    modulePreload: { polyfill: false },
  },
});
