import {
  Alert,
  Anchor,
  PasswordInput,
  type PasswordInputProps,
  Stack,
  TextInput,
  type TextInputProps,
  Title,
} from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { useDocumentTitle } from "@mantine/hooks";
import type { FormEventHandler, ReactNode } from "react";
import { Link } from "react-router";
import type { AuthProblem } from "./use-auth-form.ts";
import { BusyButton } from "../ui/buttons.tsx";

type Props = {
  title: string;
  submit: string;
  problem: AuthProblem | null;
  isBusy: boolean;
  onSubmit: FormEventHandler<HTMLFormElement>;
  children: ReactNode;
  /** Links below the form. */
  links?: ReactNode;
};

/** The form of the sign-in, sign-up and password pages. */
export function SessionForm({ title, submit, problem, isBusy, onSubmit, children, links }: Props) {
  useDocumentTitle(`${title} · Keyframe`);
  return (
    <form onSubmit={onSubmit} noValidate>
      <Stack>
        <Title order={1} size="h3">
          {title}
        </Title>
        {children}
        <AuthAlert problem={problem} />
        <BusyButton type="submit" isBusy={isBusy} fullWidth>
          {submit}
        </BusyButton>
        {links}
      </Stack>
    </form>
  );
}

export const AuthAlert = ({ problem }: { problem: AuthProblem | null }) =>
  problem !== null && (
    <Alert key={problem.id} color="red" role="alert">
      {problem.sentence}
    </Alert>
  );

export const FormLink = ({ to, children }: { to: string; children: string }) => (
  <Anchor component={Link} to={to} size="sm">
    {children}
  </Anchor>
);

export type Credentials = { email: string; password: string };
export const NOTHING: Credentials = { email: "", password: "" };

export function CredentialFields({ form, isNew }: { form: UseFormReturnType<Credentials>; isNew: boolean }) {
  return (
    <>
      <EmailField key={form.key("email")} {...form.getInputProps("email")} />
      <PasswordField label="Password" isNew={isNew} key={form.key("password")} {...form.getInputProps("password")} />
    </>
  );
}

/** Password managers look for "username", also when it is an email address. */
export function EmailField(props: TextInputProps) {
  return (
    <TextInput
      label="Email"
      name="email"
      type="email"
      autoComplete="username"
      autoCapitalize="none"
      spellCheck={false}
      required
      withAsterisk={false}
      {...props}
    />
  );
}

/** The autocomplete value tells password managers to fill in or to generate. */
export function PasswordField({ isNew, ...props }: PasswordInputProps & { label: string; isNew: boolean }) {
  return (
    <PasswordInput
      name={isNew ? "new-password" : "password"}
      autoComplete={isNew ? "new-password" : "current-password"}
      aria-invalid={Boolean(props.error)} // which the library sets on every other field
      visibilityToggleFocusable
      visibilityToggleButtonProps={{ "aria-label": "Show password" }}
      required
      withAsterisk={false}
      {...props}
    />
  );
}
