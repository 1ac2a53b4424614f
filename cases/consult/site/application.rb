# The platform: Rails with its records, its controllers and its views. With CONSULT_CACHE=redis the framework keeps parts of
# pages in Redis; otherwise it caches nothing.
require "logger"
require "rails"
require "active_record/railtie"
require "action_controller/railtie"

class Consult < Rails::Application
  config.root = __dir__
  config.load_defaults 6.1
  config.eager_load = true
  config.cache_classes = true
  config.consider_all_requests_local = false
  config.secret_key_base = ENV.fetch("CONSULT_SECRET")
  config.logger = Logger.new($stderr)
  config.log_level = :warn
  config.paths["app/views"] = ["views"]
  config.action_controller.perform_caching = ENV["CONSULT_CACHE"] == "redis"
  config.cache_store = config.action_controller.perform_caching ? [:redis_cache_store, { url: ENV.fetch("REDIS_URL") }] : :null_store
  # A member is known by one signed cookie, written at the login alone: a session would set one with every page.
  config.session_store :disabled
  # That cookie is not sent with forms of other sites.
  config.action_controller.default_protect_from_forgery = false
  # How long an answer lasts is said by each controller.
  config.middleware.delete Rack::ETag
  config.middleware.delete Rack::ConditionalGet

  routes.append do
    root to: "pages#home"
    get "/health", to: "pages#health"
    get "/projects/:id", to: "pages#project"
    get "/ideas/:id", to: "pages#idea"
    post "/ideas/:id/votes", to: "pages#vote"
    post "/login", to: "pages#login"
    get "/parts/box", to: "parts#box"
    get "/parts/latest", to: "parts#latest"
  end
end

require_relative "records"
require_relative "controllers"
