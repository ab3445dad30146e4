import { isEmail } from "@mantine/form";

/** Supabase Auth's own least length; a project that asks for more says so itself. */
const SHORTEST_PASSWORD = 6;

export const checkEmail = isEmail("Enter an email address.");

export const checkPassword = (password: string) => (password === "" ? "Enter your password." : null);

export const checkNewPassword = (password: string) =>
  password.length < SHORTEST_PASSWORD ? `Use at least ${SHORTEST_PASSWORD} characters.` : null;
