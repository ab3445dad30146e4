import process from "node:process";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { contentSecurityPolicy, projectConfig, readProject } from "./vite-plugins.ts";

const project = readProject(process.env);

const PROXIED = ["/auth", "/rest", "/storage", "/functions", "/config.json"];

export default defineConfig({
  root: import.meta.dirname,
  base: "./", // works in any folder of any host; routes are behind the #
  plugins: [react(), contentSecurityPolicy(project?.supabaseUrl), projectConfig(project)],
  // For development beside a running `npm start`: npm run dashboard.
  server: { host: "127.0.0.1", proxy: Object.fromEntries(PROXIED.map((path) => [path, "http://127.0.0.1:54321"])) },
  preview: { proxy: {} }, // a build asks the project that it was made for
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2023",
    cssCodeSplit: false, // all of it is small: one request in place of one a page
    // The first versions with light-dark(): for older ones the build rewrites it in a way that breaks the component library.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    chunkSizeWarningLimit: 700, // the scripts of the first page, together
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // By default each component that pages share is a file of its own: 60 requests for a page.
        codeSplitting: {
          // With src, because a clone may be in a folder named projects.
          groups: [
            { name: "mediabunny", test: /[\\/]mediabunny[\\/]/, priority: 2 }, // two that load on demand share it
            { name: "ipaddr", test: /ipaddr/, priority: 1.5 }, // of the endpoints alone
            { name: "first", tags: ["$initial"], priority: 2 },
            {
              name: "shared",
              test: /node_modules|src[\\/](app|ui)[\\/]|query-client|use-once/,
              minShareCount: 2,
              priority: 1,
            },
            {
              name: "films",
              test: /src[\\/](elements|projects|prompts|queries|step-settings|takes)[\\/]/,
              minShareCount: 2,
            },
            { name: "webhooks", test: /src[\\/]webhooks[\\/]/, minShareCount: 2 },
            { name: "session", test: /src[\\/]session[\\/]/, minShareCount: 2 },
          ],
        },
      },
    },
  },
});
