require_relative "application"
Consult.initialize!
use Rack::ContentLength
run Consult
