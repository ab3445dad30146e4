import { type AuthError, isAuthRetryableFetchError } from "@supabase/auth-js";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { UNREACHABLE } from "../ui/errors.ts";
import { focusProblem } from "../ui/dialog-focus.ts";

/** `id` changes with each error, so that screen readers announce the same text again. */
export type AuthProblem = { id: number; sentence: string };

/** Runs one Auth call. The error stays until the next call ends, so that nothing jumps. */
export function useAuthCall<Input>(call: (input: Input) => Promise<{ error: AuthError | null }>) {
  const [problem, setProblem] = useState<AuthProblem | null>(null);
  const mutation = useMutation<void, AuthError, Input>({
    mutationFn: async (input) => {
      const { error } = await call(input);
      if (error) throw error;
    },
    onSuccess: () => setProblem(null),
    onError: (error) => setProblem((former) => ({ id: (former?.id ?? 0) + 1, sentence: authSentence(error) })),
  });
  return { run: mutation.mutate, isBusy: mutation.isPending, problem };
}

type Checks<Name extends string> = Record<Name, (value: string) => string | null>;

/** A form that makes one Auth call. `props`: for SessionForm. The fields keep their own values, so that password managers can set them. */
export function useAuthForm<Name extends string>(
  checks: Checks<Name>,
  call: (values: Record<Name, string>) => Promise<{ error: AuthError | null }>,
) {
  const { run, isBusy, problem } = useAuthCall(call);
  const [errors, setErrors] = useState<Partial<Record<Name, string | null>>>({});
  const forEach = (read: (name: Name) => string | null) =>
    Object.fromEntries(Object.keys(checks).map((name) => [name, read(name as Name)])); // the names are the keys of `checks`
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    const values = forEach((name) => String(given.get(name))) as Record<Name, string>; // of each name, a text
    const found = forEach((name) => checks[name](values[name])) as typeof errors; // of each name
    setErrors(found);
    if (!focusProblem(event.currentTarget, found)) run(values);
  };
  const field = (name: Name) => ({
    name,
    error: errors[name],
    onChange: () => setErrors((all) => ({ ...all, [name]: null })),
  });
  return { run, field, props: { isBusy, problem, onSubmit } };
}

const SENTENCE: Record<string, string> = {
  invalid_credentials: "Wrong email or password.",
  email_not_confirmed: "This email address is not confirmed. Open the link in the email we sent you.",
  user_already_exists: "An account with this email already exists. Sign in or reset your password.",
  email_exists: "An account with this email already exists. Sign in or reset your password.",
  same_password: "This is your current password. Choose a new one.",
  over_request_rate_limit: "Too many attempts. Wait a minute, then try again.",
  over_email_send_rate_limit: "Too many emails requested. Wait a few minutes, then try again.",
  session_not_found: "Your session has expired. Sign in or request a new link.",
  session_expired: "Your session has expired. Sign in or request a new link.",
  user_banned: "This account is blocked. Contact the administrator.",
  signup_disabled: "Sign-up is disabled. Ask the administrator for an account.",
};

/** The text for an Auth error. An unknown error keeps Auth's own message. */
export function authSentence(error: AuthError): string {
  if (isAuthRetryableFetchError(error)) return UNREACHABLE;
  // Only the project knows its password rules. The message names them.
  if (error.code === "weak_password") return `This password is too weak. ${error.message}`;
  return SENTENCE[error.code ?? ""] ?? error.message;
}

/** Supabase Auth's minimum. A stricter project says so itself. */
const MIN_PASSWORD_CHARACTERS = 6;

export const checkEmail = (email: string) => (/^\S+@\S+$/.test(email) ? null : "Enter an email address.");

export const checkPassword = (password: string) => (password === "" ? "Enter your password." : null);

export const checkNewPassword = (password: string) =>
  password.length < MIN_PASSWORD_CHARACTERS ? `Use at least ${MIN_PASSWORD_CHARACTERS} characters.` : null;
