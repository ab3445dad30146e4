import { PROJECT_ROOT as ROOT } from "../../../local/stack/project-root.ts";
import { journey } from "./programs.ts";

/** The journey as an app has it, and mistakes that its types must find. */
const USE = `${journey}
const keyframe = createKeyframeClient({ url: "https://abc.supabase.co", getToken: () => null });
// @ts-expect-error a first frame has no duration: the types are not \`any\`
void keyframe.generate("first-frame", { projectId: "", durationSeconds: 5 });
`;

/** In a browser. Its types need neither mediabunny nor client-zip. */
const USE_FILM = `import { FilmError, joinFilm, zipFilm } from "keyframe-client/film";

export async function download(filmId: string, signal: AbortSignal): Promise<Blob> {
  const film = await keyframe.films.read(filmId, { signal });
  const options = { signal, onProgress: ({ share }: { share: number }) => console.log(share) };
  return joinFilm(film, options).catch((error: unknown) => {
    if (error instanceof FilmError && error.code === "cannot_join") return zipFilm(film, options);
    throw error;
  });
}
`;

const SETTINGS = {
  // tsconfig.app.json of `npm create vite@latest -- --template react-ts` and more. Not skipLibCheck: our types are checked too.
  "an app of Vite and React with every strictness": {
    target: "ES2022",
    lib: ["ES2022", "DOM", "DOM.Iterable"],
    module: "ESNext",
    types: [],
    moduleResolution: "bundler",
    verbatimModuleSyntax: true,
    moduleDetection: "force",
    noEmit: true,
    skipDefaultLibCheck: true,
    strict: true,
    erasableSyntaxOnly: true,
    noUncheckedSideEffectImports: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
  },
  "a Node server, without the types of a browser": {
    ...{ target: "ES2022", lib: ["ES2022"], module: "NodeNext", strict: true, noEmit: true },
    ...{ types: ["node"], typeRoots: [`${ROOT}node_modules/@types`] },
  },
};
/** What the compiler of this folder complains of in an app that has installed the packed client. */
export async function mistakesIn(app: string, compiler: string, settings: keyof typeof SETTINGS): Promise<string> {
  await Deno.writeTextFile(`${app}/use.ts`, settings.includes("Vite") ? USE + USE_FILM : USE);
  await Deno.writeTextFile(
    `${app}/tsconfig.json`,
    JSON.stringify({ compilerOptions: SETTINGS[settings], files: ["use.ts"] }),
  );
  const { stdout, stderr } = await new Deno.Command("node", {
    args: [`${compiler}/bin/tsc`, "--pretty", "false"],
    cwd: app,
  }).output();
  return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
}
