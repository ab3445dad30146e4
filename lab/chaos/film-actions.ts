import { removePrediction, removeProject, twice } from "./users.ts";
import type { User, World } from "./world.ts";

/** Few, so that their shots change places with each other. */
const MAX_FILMS = 2;
/** The share of deleted films whose projects are deleted too. */
const WITH_PROJECTS = 0.3;

/** What a user does with films and takes. */
export function filmActions(user: User, world: World) {
  const { client, random } = user;
  const { ledger } = world;
  const film = () => (user.films.length === 0 ? undefined : random.pick(user.films));
  const frame = () => (user.frames.length === 0 ? undefined : random.pick(user.frames));
  return {
    createFilm: async () => {
      if (user.films.length >= MAX_FILMS) return;
      const key = crypto.randomUUID();
      const make = () => client.films.create({ title: key }, { idempotencyKey: key });
      user.films.push((await twice(user, world, key, "film", make, ({ filmId }) => filmId)).filmId);
    },
    // Shots of other films and of none come in, others go out; often as another writer has changed the film.
    orderFilm: async () => {
      const filmId = film();
      if (filmId === undefined) return;
      const read = await client.films.read(filmId);
      const known = [...new Set([...read.projectIds, ...user.projects.map(({ projectId }) => projectId)])];
      const projectIds = random.shuffled(known).slice(0, random.whole(Math.ceil(known.length / 2), known.length));
      await client.films.change(filmId, { projectIds }, random.chance(0.5) ? { unchangedSince: read } : {});
    },
    deleteFilm: async () => {
      const filmId = film();
      if (filmId === undefined) return;
      user.films = user.films.filter((one) => one !== filmId);
      if (!random.chance(WITH_PROJECTS)) return void (await client.films.delete(filmId));
      const read = await client.films.read(filmId);
      for (const projectId of read.projectIds) ledger.deletedProjects.add(projectId);
      // With If-Match: otherwise a shot that has come in since would be deleted too.
      await client.films.delete(filmId, { projects: "delete" }, { unchangedSince: read });
      for (const projectId of read.projectIds) removeProject(user, projectId);
    },
    selectTake: async () => {
      const take = frame();
      if (take) await client.changeProject(take.projectId, { selected: { [take.step]: take.predictionId } });
    },
    deleteTake: async () => {
      const take = frame();
      if (!take) return;
      ledger.deletedTakes.add(take.predictionId);
      await client.deletePrediction(take);
      removePrediction(user, take.predictionId);
    },
  };
}
