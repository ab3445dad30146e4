import { z } from "zod";
import { filmWithShots } from "../../../shared/contract/films.ts";
import { dataOf } from "./envelope.ts";
import { exactFilm, type User } from "./user.ts";

const filmPage = z.strictObject({ films: z.array(exactFilm), nextCursor: z.string().min(1).nullable() });
const exactShots = z.strictObject(filmWithShots.shape);

export const readFilm = async (by: User, id: string) =>
  exactShots.parse(dataOf(await by.call(`/api/films/${id}`), 200));

export const changeFilm = async (by: User, id: string, json: unknown) =>
  exactFilm.parse(dataOf(await by.call(`/api/films/${id}`, { method: "PATCH", json }), 200));

export const listFilms = async (by: User, query: Record<string, string> = {}) =>
  filmPage.parse(dataOf(await by.call(`/api/films?${new URLSearchParams(query)}`), 200));
