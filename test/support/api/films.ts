import { film, filmPage, filmWithShots } from "../../../shared/contract/films.ts";
import { dataOf } from "./envelope.ts";
import type { User } from "./user.ts";

export const readFilm = async (by: User, id: string) =>
  filmWithShots.parse(dataOf(await by.call(`/api/films/${id}`), 200));

export const changeFilm = async (by: User, id: string, json: unknown) =>
  film.parse(dataOf(await by.call(`/api/films/${id}`, { method: "PATCH", json }), 200));

export const listFilms = async (by: User, query: Record<string, string> = {}) =>
  filmPage.parse(dataOf(await by.call(`/api/films?${new URLSearchParams(query)}`), 200));
