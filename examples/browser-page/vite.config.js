// A cache of its own, or two development servers of this repository would empty each other's.
export default {
  base: "./",
  cacheDir: "../../node_modules/.vite-browser-page",
  server: { host: "127.0.0.1" },
};
