export const capitalized = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

/** For example “1 shot” or “3 shots”. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;
